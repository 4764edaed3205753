//! Mutations of pieces: of bytes, and of what JSON and traces consist of.

const WORDS: &[&[u8]] = &[
    b"null", b"true", b"false", b"-0", b"0", b"00", b"-1", b"1.5", b"1e3", b"1e400", b"-", b"1.",
    b"9223372036854775807", b"9223372036854775808", b"-9223372036854775808", b"123456789012345678",
    b"1234567890123456789012", b"0.0005", b"0.00050000000000000001", b"1234567890123456.9995",
    b"\"", b"\\", b"\\\"", b"\\u0041", b"\\ud800", b"\\ud83d\\ude00", b"\\x", b"\x00", b"\x1f",
    b"\xc3\xa9", b"\xff", b"{", b"}", b"[", b"]", b":", b",", b" ", b"\n", b"{}", b"[]", b"\"\"",
    b"\"pid", b"\"pid\"", b"\"ph\"", b"\"cat\"", b"\"name\"", b"\"tid\"", b"\"ts\"", b"\"dur\"",
    b"\"id\"", b"\"args\"", b"\"args\": {", b"\"args\": null", b"\"X\"", b"\"i\"", b"\"M\"",
    b"\"kernel\"", b"\"cpu_op\"", b"\"1\"", b"\"N/A\"", b"[1, [2]]", b"{\"a\": 1}", b"}, {",
];

pub struct Mutator {
    state: u64,
}

impl Mutator {
    pub fn new(seed: u64) -> Self {
        Mutator { state: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1 }
    }

    fn below(&mut self, limit: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) as usize % limit.max(1)
    }

    /// One of the pieces, changed in one to four places.
    pub fn mutated(&mut self, pieces: &[Vec<u8>], max_bytes: usize) -> Vec<u8> {
        let mut piece = pieces[self.below(pieces.len())].clone();
        for _ in 0..=self.below(4) {
            self.change(&mut piece, pieces);
        }
        piece.truncate(max_bytes);
        piece
    }

    fn range(&mut self, bytes: &[u8]) -> (usize, usize) {
        let start = self.below(bytes.len() + 1);
        let most = if self.below(4) == 0 { 400 } else { 12 };
        (start, (start + self.below(most)).min(bytes.len()))
    }

    fn change(&mut self, piece: &mut Vec<u8>, pieces: &[Vec<u8>]) {
        let (start, end) = self.range(piece);
        let word = WORDS[self.below(WORDS.len())];
        match self.below(7) {
            0 if start < piece.len() => piece[start] = self.below(256) as u8,
            1 => drop(piece.drain(start..end)),
            2 => drop(piece.splice(start..start, word.iter().copied())),
            3 => drop(piece.splice(start..end, word.iter().copied())),
            4 => {
                let copy = piece[start..end].to_vec();
                let (place, _) = self.range(piece);
                drop(piece.splice(place..place, copy));
            }
            5 => {
                let other = &pieces[self.below(pieces.len())];
                let (from, to) = self.range(other);
                drop(piece.splice(start..end, other[from..to].iter().copied()));
            }
            _ => self.replace_value(piece, word),
        }
    }

    /// Puts a word in the place of a whole value: what follows a colon up to the next comma.
    fn replace_value(&mut self, piece: &mut Vec<u8>, word: &[u8]) {
        let first = self.below(piece.len() + 1);
        let Some(colon) = piece[first..].iter().position(|&byte| byte == b':') else { return };
        let start = first + colon + 1;
        let size = piece[start..].iter().position(|&byte| matches!(byte, b',' | b'}'));
        let end = size.map_or(piece.len(), |size| start + size);
        drop(piece.splice(start..end, word.iter().copied()));
    }
}
