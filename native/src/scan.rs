//! Tokens of JSON. Whatever a strict reader would refuse, and a few things that it would not
//! (escaped keys, unpaired surrogates, control characters), is odd.

use crate::{Odd, Span};

const MAX_DEPTH: u32 = 48;
const MAX_DIGITS: usize = 200;
const MAX_EXPONENT_DIGITS: usize = 2;
const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Where a reader of a piece stands.
pub struct Scanner<'a> {
    pub text: &'a [u8],
    pub at: usize,
    /// How often `"pid` occurred, inside of strings too.
    pub pid_words: u32,
}

/// A number that is only digits, or anything else.
pub enum Number {
    Integer(i64),
    Other,
}

impl<'a> Scanner<'a> {
    pub fn new(text: &'a [u8]) -> Self {
        Scanner {
            text,
            at: 0,
            pid_words: 0,
        }
    }

    #[inline(always)]
    pub fn peek(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(0)
    }

    #[inline(always)]
    pub fn blanks(&mut self) {
        while matches!(self.peek(), b' ' | b'\n' | b'\r' | b'\t') {
            self.at += 1;
        }
    }

    #[inline(always)]
    pub fn expect(&mut self, byte: u8) -> Result<(), Odd> {
        if self.peek() != byte {
            return Err(Odd);
        }
        self.at += 1;
        Ok(())
    }

    /// The text of a key without its quotes, up to the value; a key with an escape is odd.
    #[inline]
    pub fn key(&mut self) -> Result<&'a [u8], Odd> {
        let (span, is_escaped) = self.string()?;
        if is_escaped {
            return Err(Odd);
        }
        self.blanks();
        self.expect(b':')?;
        self.blanks();
        Ok(&self.text[span.start as usize + 1..span.end as usize - 1])
    }

    /// A string with its quotes, and whether it has an escape.
    #[inline]
    pub fn string(&mut self) -> Result<(Span, bool), Odd> {
        let start = self.at;
        self.expect(b'"')?;
        if self.text[self.at..].starts_with(b"pid") {
            self.pid_words += 1;
        }
        let mut is_escaped = false;
        loop {
            self.skip_plain();
            match self.peek() {
                b'"' => {
                    self.at += 1;
                    return Ok((self.span(start), is_escaped));
                }
                b'\\' => {
                    is_escaped = true;
                    self.escape()?;
                }
                _ => return Err(Odd),
            }
        }
    }

    /// Goes to the next quote, backslash or control character, or to the end.
    #[inline(always)]
    fn skip_plain(&mut self) {
        while let Some(bytes) = self.text.get(self.at..self.at + 8) {
            let word = u64::from_le_bytes(bytes.try_into().unwrap_or([0; 8]));
            let quote = word ^ (LOW * b'"' as u64);
            let slash = word ^ (LOW * b'\\' as u64);
            let special = (quote.wrapping_sub(LOW) & !quote)
                | (slash.wrapping_sub(LOW) & !slash)
                | (word.wrapping_sub(LOW * 0x20) & !word);
            let special = special & HIGH;
            if special != 0 {
                self.at += special.trailing_zeros() as usize / 8;
                return;
            }
            self.at += 8;
        }
        while let Some(&byte) = self.text.get(self.at) {
            if byte == b'"' || byte == b'\\' || byte < 0x20 {
                return;
            }
            self.at += 1;
        }
    }

    fn escape(&mut self) -> Result<(), Odd> {
        self.at += 1;
        let code = self.peek();
        match code {
            b'"' => {
                if self.text[self.at..].starts_with(b"\"pid") {
                    self.pid_words += 1;
                }
            }
            b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
            b'u' => {
                let digits = self.text.get(self.at + 1..self.at + 5).ok_or(Odd)?;
                if !digits.iter().all(u8::is_ascii_hexdigit) {
                    return Err(Odd);
                }
                if matches!(digits[0], b'd' | b'D') && !matches!(digits[1], b'0'..=b'7') {
                    return Err(Odd); // half of a pair
                }
                self.at += 4;
            }
            _ => return Err(Odd),
        }
        self.at += 1;
        Ok(())
    }

    /// Any value.
    #[inline]
    pub fn value(&mut self) -> Result<Span, Odd> {
        let start = self.at;
        self.skip(0)?;
        Ok(self.span(start))
    }

    fn skip(&mut self, depth: u32) -> Result<(), Odd> {
        match self.peek() {
            b'"' => self.string().map(|_| ()),
            b'{' => self.skip_object(depth),
            b'[' => self.skip_list(depth),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            _ => self.number().map(|_| ()),
        }
    }

    fn skip_object(&mut self, depth: u32) -> Result<(), Odd> {
        if depth >= MAX_DEPTH {
            return Err(Odd);
        }
        self.at += 1;
        self.blanks();
        if self.peek() == b'}' {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.string()?;
            self.blanks();
            self.expect(b':')?;
            self.blanks();
            self.skip(depth + 1)?;
            self.blanks();
            if self.peek() != b',' {
                return self.expect(b'}');
            }
            self.at += 1;
            self.blanks();
        }
    }

    fn skip_list(&mut self, depth: u32) -> Result<(), Odd> {
        if depth >= MAX_DEPTH {
            return Err(Odd);
        }
        self.at += 1;
        self.blanks();
        if self.peek() == b']' {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.skip(depth + 1)?;
            self.blanks();
            if self.peek() != b',' {
                return self.expect(b']');
            }
            self.at += 1;
            self.blanks();
        }
    }

    fn word(&mut self, word: &[u8]) -> Result<(), Odd> {
        if !self.text[self.at..].starts_with(word) {
            return Err(Odd);
        }
        self.at += word.len();
        Ok(())
    }

    /// A number; an integer if it is one of at most 18 digits, and not `-0`. One that a double may
    /// not hold is odd.
    #[inline]
    pub fn number(&mut self) -> Result<Number, Odd> {
        let is_negative = self.peek() == b'-';
        self.at += usize::from(is_negative);
        let first = self.at;
        let mut value: i64 = 0;
        while let digit @ b'0'..=b'9' = self.peek() {
            value = value.wrapping_mul(10).wrapping_add(i64::from(digit - b'0'));
            self.at += 1;
        }
        let digits = self.at - first;
        if digits == 0 || (digits > 1 && self.text[first] == b'0') {
            return Err(Odd);
        }
        let mut is_integer = digits <= 18 && !(is_negative && value == 0);
        if digits > MAX_DIGITS {
            return Err(Odd);
        }
        if self.peek() == b'.' {
            is_integer = false;
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), b'e' | b'E') {
            is_integer = false;
            self.at += 1;
            if matches!(self.peek(), b'+' | b'-') {
                self.at += 1;
            }
            if self.digits()? > MAX_EXPONENT_DIGITS {
                return Err(Odd);
            }
        }
        if is_integer {
            return Ok(Number::Integer(if is_negative { -value } else { value }));
        }
        Ok(Number::Other)
    }

    fn digits(&mut self) -> Result<usize, Odd> {
        let first = self.at;
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
        if self.at == first {
            Err(Odd)
        } else {
            Ok(self.at - first)
        }
    }

    #[inline(always)]
    pub fn span(&self, start: usize) -> Span {
        Span {
            start: start as u32,
            end: self.at as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Scanner;

    fn rest(text: &str) -> Option<&str> {
        let mut scanner = Scanner::new(text.as_bytes());
        scanner.value().ok().map(|_| &text[scanner.at..])
    }

    #[test]
    fn values_end_where_they_end() {
        assert_eq!(rest("\"a longer text, 17\", 1"), Some(", 1"));
        assert_eq!(rest("\"a \\\"quote\\\" and \\u00e9\"]"), Some("]"));
        assert_eq!(rest("[1, {\"a\": [null, -2.5e+3]}, \"]\"] "), Some(" "));
        assert_eq!(rest("-12.50,"), Some(","));
    }

    #[test]
    fn what_is_odd_is_no_value() {
        let odd = [
            "\"open",
            "\"tab\there\"",
            "\"\\q\"",
            "\"\\ud800\"",
            "01",
            "1.",
            "-",
            "1e400",
            "tru",
            "[1 2]",
            "{1: 2}",
            "",
        ];
        for text in odd {
            assert_eq!(rest(text), None, "{text}");
        }
        assert_eq!(rest(&"[".repeat(60)), None);
    }

    #[test]
    fn the_word_of_the_process_is_counted_where_it_may_begin_a_key() {
        let text = br#"{"pid": 1, "name": "say \"pid\"", "rapid": 2}"#;
        let mut scanner = Scanner::new(text);
        assert!(scanner.value().is_ok());
        assert_eq!(scanner.pid_words, 2);
    }
}
