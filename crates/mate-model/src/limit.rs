//! Limits of a grant: amounts that add up exactly, and rates.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{fmt, str::FromStr};

/// How many parts one unit of an amount has.
const PARTS: i64 = 1_000_000;

/// An amount of whatever is spent, in millionths of its unit; never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Amount(i64);

/// A text that is no amount.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be a number from 0 to 9000000000000 with at most 6 decimals, such as 250 or 12.50")]
pub struct BadAmount;

impl Amount {
    /// The most that an amount can be: 9,000,000,000,000 units.
    pub const MOST: Self = Self(9_000_000_000_000 * PARTS);

    /// An amount of so many millionths.
    ///
    /// # Errors
    /// When it is negative, or more than [`Amount::MOST`].
    pub const fn of_millionths(parts: i64) -> Result<Self, BadAmount> {
        if parts < 0 || parts > Self::MOST.0 { Err(BadAmount) } else { Ok(Self(parts)) }
    }

    /// In millionths.
    #[must_use]
    pub const fn millionths(self) -> i64 {
        self.0
    }

    /// Both together; none when that is more than an amount can be.
    #[must_use]
    pub fn plus(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).and_then(|sum| Self::of_millionths(sum).ok())
    }
}

impl FromStr for Amount {
    type Err = BadAmount;

    /// Reads plain decimals: digits, and at most six more after a point. No sign, no exponent.
    fn from_str(text: &str) -> Result<Self, BadAmount> {
        let (whole, decimals) = text.split_once('.').map_or((text, None), |(w, d)| (w, Some(d)));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || whole.len() > 13 || decimals.is_some_and(|d| !digits(d)) {
            return Err(BadAmount);
        }
        let decimals = decimals.unwrap_or_default().trim_end_matches('0');
        if decimals.len() > 6 {
            return Err(BadAmount);
        }
        let whole: i64 = whole.parse().map_err(|_| BadAmount)?;
        let parts: i64 = format!("{decimals:0<6}").parse().map_err(|_| BadAmount)?;
        let all = whole.checked_mul(PARTS).and_then(|whole| whole.checked_add(parts)).ok_or(BadAmount)?;
        Self::of_millionths(all)
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, parts) = (self.0 / PARTS, self.0 % PARTS);
        if parts == 0 {
            return write!(f, "{whole}");
        }
        let decimals = format!("{parts:06}");
        write!(f, "{whole}.{}", decimals.trim_end_matches('0'))
    }
}

impl Serialize for Amount {
    /// As text: a number would lose what a double cannot hold.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl de::Visitor<'_> for Read {
            type Value = Amount;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an amount such as \"250\" or \"12.50\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Amount, E> {
                text.parse().map_err(E::custom)
            }
            fn visit_u64<E: de::Error>(self, whole: u64) -> Result<Amount, E> {
                self.visit_str(&whole.to_string())
            }
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Amount, E> {
                self.visit_str(&number.to_string())
            }
        }
        deserializer.deserialize_any(Read)
    }
}

crate::words::words!(/// The time that a rate is counted in.
Period, "a period" {
    /// A second.
    Second = "s",
    /// A minute.
    Minute = "min",
    /// An hour.
    Hour = "h",
});

impl Period {
    /// How long it is, in microseconds.
    #[must_use]
    pub const fn micros(self) -> i64 {
        match self {
            Self::Second => 1_000_000,
            Self::Minute => 60_000_000,
            Self::Hour => 3_600_000_000,
        }
    }
}

/// So many calls in a period, at once or spread over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// How many; 1 or more.
    pub calls: u32,
    /// In which time.
    pub per: Period,
}

/// A text that is no rate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be a number from 1 to 1000000 and a period, such as 5/s, 30/min or 100/h")]
pub struct BadRate;

impl FromStr for Rate {
    type Err = BadRate;

    fn from_str(text: &str) -> Result<Self, BadRate> {
        let (calls, per) = text.split_once('/').ok_or(BadRate)?;
        if calls.is_empty() || !calls.bytes().all(|b| b.is_ascii_digit()) {
            return Err(BadRate);
        }
        let calls = calls.parse().ok().filter(|calls| (1..=1_000_000).contains(calls)).ok_or(BadRate)?;
        Ok(Self { calls, per: per.parse().map_err(|_| BadRate)? })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.calls, self.per)
    }
}

impl Serialize for Rate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// What may be spent under a grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spend {
    /// In all.
    pub max: Amount,
    /// Reserved so far. A call that was never sent gives nothing back.
    pub used: Amount,
    /// What each call costs, besides what its arguments say.
    pub cost: Option<Amount>,
    /// `TOOL.FIELD`: the argument that says what a call of the tool spends. `*.FIELD` is for every tool.
    pub fields: Vec<String>,
}

impl Spend {
    /// The dotted path of the argument that says what a call of `tool` spends: the tool's own, else that of every tool.
    #[must_use]
    pub fn field(&self, tool: &str) -> Option<&str> {
        let of =
            |name: &str| self.fields.iter().find_map(|field| field.strip_prefix(name)?.strip_prefix('.'));
        of(tool).or_else(|| of("*"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_exact() {
        for (text, shown) in [
            ("0", "0"),
            ("250", "250"),
            ("12.50", "12.5"),
            ("0.000001", "0.000001"),
            ("007.10", "7.1"),
            ("9000000000000", "9000000000000"),
            ("1.0000000", "1"),
        ] {
            let amount: Amount = text.parse().expect(text);
            assert_eq!(amount.to_string(), shown);
            assert_eq!(amount.to_string().parse::<Amount>(), Ok(amount));
        }
        let bad = [
            "",
            "-1",
            "+1",
            "1e3",
            ".5",
            "5.",
            "0.0000001",
            "9000000000001",
            "99999999999999",
            "1,5",
            " 1",
            "NaN",
        ];
        for text in bad {
            assert_eq!(text.parse::<Amount>(), Err(BadAmount), "{text}");
        }
        let tenth: Amount = "0.1".parse().expect("an amount");
        let sum = (0..10).try_fold(Amount::default(), |sum, _| sum.plus(tenth));
        assert_eq!(sum, "1".parse().ok());
        assert_eq!(Amount::MOST.plus(tenth), None);
    }

    #[test]
    fn amounts_as_json() {
        let read = |json: &str| serde_json::from_str::<Amount>(json).ok().map(|amount| amount.to_string());
        assert_eq!(read("\"12.50\"").as_deref(), Some("12.5"));
        assert_eq!(read("250").as_deref(), Some("250"));
        assert_eq!(read("0.1").as_deref(), Some("0.1"));
        assert_eq!((read("-1"), read("\"much\""), read("1e300"), read("null")), (None, None, None, None));
    }

    #[test]
    fn rates() {
        for text in ["1/s", "30/min", "1000000/h"] {
            assert_eq!(text.parse::<Rate>().expect(text).to_string(), text);
        }
        for text in ["", "5", "0/s", "1000001/s", "-1/s", "+1/s", "5/d", "5/ s", "5 /s", "x/min"] {
            assert_eq!(text.parse::<Rate>(), Err(BadRate), "{text}");
        }
    }

    #[test]
    fn the_tools_own_field_comes_before_that_of_every_tool() {
        let fields = ["*.amount", "pay.order.total", "x.y.z"].map(str::to_owned).to_vec();
        let spend = Spend { max: Amount::MOST, used: Amount::default(), cost: None, fields };
        assert_eq!(spend.field("pay"), Some("order.total"));
        assert_eq!(spend.field("refund"), Some("amount"));
        assert_eq!(spend.field("x"), Some("y.z"));
        let none = Spend { fields: vec!["pay.amount".to_owned()], ..spend };
        assert_eq!((none.field("pa"), none.field("payment")), (None, None));
    }
}
