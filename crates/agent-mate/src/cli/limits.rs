//! Limits as people write them: `2G`, `200`, `150%`.

use clap::Args;
use mate_model::containment::Limits;

/// What the processes of a session may use together.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct LimitArgs {
    /// Memory of all processes of a session together, as in 512M or 2G; enforced where the session has a cgroup
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    max_memory: Option<u64>,
    /// How many processes a session may have
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(4..=1_000_000))]
    max_processes: Option<u64>,
    /// Processor time of all processes of a session together: 150% is one and a half processors
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    max_cpu: Option<u64>,
}

impl LimitArgs {
    /// Those that were given.
    pub(crate) fn given(self) -> Option<Limits> {
        let limits = Limits { memory: self.max_memory, processes: self.max_processes, cpu: self.max_cpu };
        (limits != Limits::default()).then_some(limits)
    }
}

/// A number of bytes, with `K`, `M`, `G` or `T` for powers of 1024.
fn memory(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.as_bytes().last().map(u8::to_ascii_uppercase) {
        Some(b'K') => (&text[..text.len() - 1], 10),
        Some(b'M') => (&text[..text.len() - 1], 20),
        Some(b'G') => (&text[..text.len() - 1], 30),
        Some(b'T') => (&text[..text.len() - 1], 40),
        Some(_) | None => (text, 0),
    };
    let number: Option<u64> = digits.parse().ok();
    number
        .and_then(|number| number.checked_mul(1 << shift))
        .ok_or_else(|| "a size is a whole number with K, M, G or T behind it, as in 512M or 2G".to_owned())
}

fn percent(text: &str) -> Result<u64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).parse();
    number.map_err(|_| "processor time is a whole number of percent of one processor, as in 150%".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_shares_are_read_as_they_are_written() {
        assert_eq!(memory("2G"), Ok(2 << 30));
        assert_eq!(memory("512m"), Ok(512 << 20));
        assert_eq!(memory("1048576"), Ok(1 << 20));
        for wrong in ["", "G", "2.5G", "-1M", "99999999999T", "2GB", "\u{e9}"] {
            assert!(memory(wrong).is_err(), "{wrong}");
        }
        assert_eq!((percent("150%"), percent("50")), (Ok(150), Ok(50)));
        assert!(percent("half").is_err());
    }
}
