//! Times in microseconds as nanoseconds.

const MAX_DIGITS: usize = 16;
const MAX_WHOLE: i64 = i64::MAX / 1000 - 1;

/// The nanoseconds of plain digits with or without decimals, rounded half to even; none for
/// anything else (a sign, an exponent, more digits than a time has).
#[inline]
pub fn nanoseconds(token: &[u8]) -> Option<i64> {
    let mut whole: i64 = 0;
    let mut at = 0;
    while let Some(digit @ b'0'..=b'9') = token.get(at) {
        if at == MAX_DIGITS {
            return None;
        }
        whole = whole * 10 + i64::from(digit - b'0');
        at += 1;
    }
    if at == 0 || whole > MAX_WHOLE {
        return None;
    }
    if at == token.len() {
        return Some(whole * 1000);
    }
    if token[at] != b'.' {
        return None;
    }
    let decimals = &token[at + 1..];
    if decimals.is_empty() || !decimals.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let mut thousandths: i64 = 0;
    for place in 0..3 {
        let digit = decimals.get(place).map_or(0, |digit| digit - b'0');
        thousandths = thousandths * 10 + i64::from(digit);
    }
    let rest = decimals.get(3..).unwrap_or(&[]);
    Some(whole * 1000 + thousandths + i64::from(rounds_up(rest, thousandths % 2 == 1)))
}

fn rounds_up(rest: &[u8], is_odd: bool) -> bool {
    match rest.split_first() {
        None => false,
        Some((b'5', others)) if others.iter().all(|&digit| digit == b'0') => is_odd,
        Some((&first, _)) => first >= b'5',
    }
}

#[cfg(test)]
mod tests {
    use super::nanoseconds;

    #[test]
    fn halves_are_rounded_to_even() {
        assert_eq!(nanoseconds(b"7.0005"), Some(7000));
        assert_eq!(nanoseconds(b"7.0015"), Some(7002));
        assert_eq!(nanoseconds(b"7.00050000000000000001"), Some(7001));
        assert_eq!(nanoseconds(b"0.9995"), Some(1000));
    }

    #[test]
    fn digits_are_exact_where_a_double_is_not() {
        assert_eq!(
            nanoseconds(b"1736408883810995.637"),
            Some(1_736_408_883_810_995_637)
        );
        assert_eq!(nanoseconds(b"5"), Some(5000));
        assert_eq!(nanoseconds(b"5.5"), Some(5500));
    }

    #[test]
    fn anything_else_is_left_to_python() {
        for token in [
            "",
            "-1",
            "1e3",
            "1.",
            ".5",
            "\"5\"",
            "null",
            "9999999999999999",
            "1.5x",
        ] {
            assert_eq!(nanoseconds(token.as_bytes()), None, "{token}");
        }
    }
}
