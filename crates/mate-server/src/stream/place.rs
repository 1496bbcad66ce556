//! Where a stream of several logs is: a number for each of them.

use super::log::Log;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

/// A log's mark and the number of the last event that was told of it.
const ENTRY: usize = 6 + 8;

/// The position after which each of `logs` goes on, as text for a cursor. Logs at their beginning are left out.
pub(crate) fn write(logs: &[(Log, i64)]) -> String {
    let mut bytes = Vec::with_capacity(logs.len() * ENTRY);
    for (log, at) in logs.iter().filter(|(_, at)| *at > 0) {
        bytes.extend_from_slice(&log.mark());
        // Numbers are small: leading zeros are left out, and how many bytes follow goes before.
        let number = at.to_be_bytes();
        let zeros = number.iter().take_while(|byte| **byte == 0).count();
        let rest = number.get(zeros..).unwrap_or_default();
        bytes.push(u8::try_from(rest.len()).unwrap_or(u8::MAX));
        bytes.extend_from_slice(rest);
    }
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Where `logs` go on after this position; nothing if it is not of this kind, or if it names none of them. A log that it
/// does not name begins at its beginning.
pub(crate) fn read(text: &str, logs: &[Log]) -> Option<Vec<i64>> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    let mut rest = bytes.as_slice();
    let (mut at, mut known) = (vec![0; logs.len()], rest.is_empty());
    while !rest.is_empty() {
        let (mark, after) = rest.split_first_chunk::<6>()?;
        let (length, after) = after.split_first()?;
        let (number, after) = after.split_at_checked(usize::from(*length))?;
        let mut whole = [0; 8];
        whole.get_mut(8_usize.checked_sub(number.len())?..)?.copy_from_slice(number);
        let number = i64::from_be_bytes(whole);
        if number <= 0 {
            return None;
        }
        if let Some(place) = logs.iter().position(|log| log.mark() == *mark) {
            *at.get_mut(place)? = number;
            known = true;
        }
        rest = after;
    }
    known.then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mate_model::{ProjectId, SessionId, TaskId};
    use uuid::Uuid;

    fn logs() -> Vec<Log> {
        let uuid = Uuid::from_u128;
        let mut logs = vec![Log::Project(ProjectId::new(uuid(1)))];
        logs.extend(
            (0..20).map(|n| Log::Journal { session: SessionId::new(uuid(2)), task: TaskId::new(uuid(n)) }),
        );
        logs
    }

    #[test]
    fn g10_a_position_reads_back_for_any_choice_of_its_logs() {
        let logs = logs();
        let at: Vec<_> = logs.iter().copied().zip([0, 1, 255, 256, i64::MAX].into_iter().cycle()).collect();
        let text = write(&at);
        let numbers: Vec<_> = at.iter().map(|(_, at)| *at).collect();
        assert_eq!(read(&text, &logs), Some(numbers.clone()));
        assert_eq!(read(&text, &[logs[4], logs[1]]), Some(vec![numbers[4], numbers[1]]));
        assert_eq!(read(&text, &[logs[0]]), None, "it names none of them");
        assert_eq!(read(&write(&[]), &logs), Some(vec![0; logs.len()]), "the beginning of all");
        // With realistic numbers it stays far below what a cursor may have.
        let usual: Vec<_> = logs.iter().map(|log| (*log, 1_000_000)).collect();
        assert!(crate::cursor::encode("stream", &write(&usual)).len() < 400);
    }

    #[test]
    fn g10_nothing_else_is_read() {
        let logs = logs();
        let text = write(&[(logs[1], 300)]);
        for bad in ["!", "AAAA", &text[..text.len() - 2], &format!("{text}AA")] {
            assert_eq!(read(bad, &logs), None, "{bad}");
        }
        let zero = URL_SAFE_NO_PAD.encode([logs[1].mark().as_slice(), &[0]].concat());
        assert_eq!(read(&zero, &logs), None, "zero is left out");
        let long = URL_SAFE_NO_PAD.encode([logs[1].mark().as_slice(), &[9], &[1; 9]].concat());
        assert_eq!(read(&long, &logs), None, "beyond any number");
    }
}
