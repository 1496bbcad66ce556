//! The one spelling of a JSON number: exact, whatever its length.
//!
//! For numbers that a double can hold, the result is what RFC 8785 asks for. Longer ones keep all
//! of their digits, so that two different numbers never read alike.

/// Beyond this power of ten a number is refused rather than compared.
const MAX_EXPONENT: i64 = 1_000_000;

/// The canonical spelling of a valid JSON number; `None` when its exponent is out of bounds.
pub(crate) fn canonical(text: &str) -> Option<String> {
    let (negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_start_matches('0').trim_end_matches('0');
    if significant.is_empty() {
        return Some("0".to_owned());
    }
    let exponent: i64 = exponent.parse().ok().filter(|e: &i64| e.abs() <= MAX_EXPONENT)?;
    let leading = digits.len() - digits.trim_start_matches('0').len();
    // The value is 0.SIGNIFICANT times ten to the power of `point`.
    let point = exponent + i64::try_from(whole.len()).ok()? - i64::try_from(leading).ok()?;
    let spelled = spell(significant, point)?;
    Some(if negative { format!("-{spelled}") } else { spelled })
}

/// ECMAScript's choice between plain and exponent notation.
fn spell(digits: &str, point: i64) -> Option<String> {
    let count = i64::try_from(digits.len()).ok()?;
    let zeros = |n: i64| "0".repeat(usize::try_from(n).unwrap_or(0));
    if (count..=21).contains(&point) {
        return Some(format!("{digits}{}", zeros(point - count)));
    }
    if 0 < point && point <= 21 {
        let (whole, fraction) = digits.split_at_checked(usize::try_from(point).ok()?)?;
        return Some(format!("{whole}.{fraction}"));
    }
    if -6 < point && point <= 0 {
        return Some(format!("0.{}{digits}", zeros(-point)));
    }
    let (first, rest) = digits.split_at_checked(1)?;
    let dot = if rest.is_empty() { "" } else { "." };
    let sign = if point > 0 { "+" } else { "-" };
    Some(format!("{first}{dot}{rest}e{sign}{}", (point - 1).abs()))
}

#[cfg(test)]
mod tests {
    use super::canonical;
    use proptest::prelude::*;

    #[test]
    fn equal_numbers_have_one_spelling() {
        for (given, wanted) in [
            ("0", "0"),
            ("-0", "0"),
            ("0.0e7", "0"),
            ("1", "1"),
            ("1.0", "1"),
            ("10e-1", "1"),
            ("0.1E1", "1"),
            ("100", "100"),
            ("1e2", "100"),
            ("-12.50", "-12.5"),
            ("0.000001", "0.000001"),
            ("0.0000001", "1e-7"),
            ("1e21", "1e+21"),
            ("123456789012345678901", "123456789012345678901"),
            ("1e20", "100000000000000000000"),
            ("333333333.33333329", "333333333.33333329"),
            ("4.50", "4.5"),
            ("2e-3", "0.002"),
            ("1e-27", "1e-27"),
            ("18446744073709551617", "18446744073709551617"),
            ("12345678901234567890123", "1.2345678901234567890123e+22"),
        ] {
            assert_eq!(canonical(given).as_deref(), Some(wanted), "{given}");
        }
        assert_eq!(canonical("1e99999999999999999999"), None);
        assert_eq!(canonical("1e-1000001"), None);
    }

    proptest! {
        #[test]
        fn a_double_keeps_its_value(value in proptest::num::f64::NORMAL) {
            let spelled = canonical(&format!("{value:e}")).expect("in bounds");
            prop_assert_eq!(spelled.parse::<f64>().expect("a number"), value);
            prop_assert_eq!(canonical(&spelled), Some(spelled.clone()));
            prop_assert_eq!(canonical(&format!("{value}")), Some(spelled));
        }
    }
}
