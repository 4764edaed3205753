//! Codes of distinct tokens, in the order in which they first occur.

use crate::Span;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::OnceLock;

const EMPTY: u32 = u32::MAX;
const FIRST_SLOTS: usize = 64;

/// A random number of this process, so that nobody can write a file whose tokens collide.
fn seed() -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    *SEED.get_or_init(|| RandomState::new().hash_one(0u64) | 1)
}

#[inline(always)]
fn mix(hash: u64, word: u64) -> u64 {
    let product = u128::from(hash ^ word) * 0x9E37_79B9_7F4A_7C15_u128;
    (product as u64) ^ ((product >> 64) as u64)
}

#[inline(always)]
fn word_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).map_or(0, |eight| {
        u64::from_le_bytes(eight.try_into().unwrap_or([0; 8]))
    })
}

#[inline]
pub fn hash_of(bytes: &[u8]) -> u64 {
    let mut hash = seed() ^ bytes.len() as u64;
    if bytes.len() < 8 {
        let mut tail = [0u8; 8];
        tail[..bytes.len()].copy_from_slice(bytes);
        return mix(hash, u64::from_le_bytes(tail));
    }
    let mut at = 0;
    while at + 8 < bytes.len() {
        hash = mix(hash, word_at(bytes, at));
        at += 8;
    }
    mix(hash, word_at(bytes, bytes.len() - 8))
}

struct Entry<K> {
    hash: u64,
    key: K,
}

/// A table of keys; `K` is what is stored of a key.
pub struct Table<K> {
    slots: Vec<u32>,
    entries: Vec<Entry<K>>,
}

impl<K: Copy> Default for Table<K> {
    fn default() -> Self {
        Table {
            slots: Vec::new(),
            entries: Vec::new(),
        }
    }
}

impl<K: Copy> Table<K> {
    pub fn keys(&self) -> impl Iterator<Item = K> + '_ {
        self.entries.iter().map(|entry| entry.key)
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The code of a key, and whether it is new.
    #[inline]
    pub fn code(&mut self, hash: u64, key: K, is_same: impl Fn(K) -> bool) -> (u32, bool) {
        if self.entries.len() * 2 >= self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let code = self.slots[slot];
            if code == EMPTY {
                let code = self.entries.len() as u32;
                self.slots[slot] = code;
                self.entries.push(Entry { hash, key });
                return (code, true);
            }
            let entry = &self.entries[code as usize];
            if entry.hash == hash && is_same(entry.key) {
                return (code, false);
            }
            slot = (slot + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let count = (self.slots.len() * 4).max(FIRST_SLOTS);
        self.slots = vec![EMPTY; count];
        for (code, entry) in self.entries.iter().enumerate() {
            let mut slot = entry.hash as usize & (count - 1);
            while self.slots[slot] != EMPTY {
                slot = (slot + 1) & (count - 1);
            }
            self.slots[slot] = code as u32;
        }
    }
}

/// Codes of texts.
#[derive(Default)]
pub struct Tokens {
    table: Table<Span>,
    last: u32,
    last_span: Span,
}

impl Tokens {
    pub fn spans(&self) -> impl Iterator<Item = Span> + '_ {
        self.table.keys()
    }

    pub fn len(&self) -> usize {
        self.table.len()
    }

    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// The code of a token; the token of the event before is often the same.
    #[inline]
    pub fn code(&mut self, text: &[u8], span: Span) -> u32 {
        let token = span.of(text);
        if !self.is_empty()
            && self.last_span.of(text) == token
            && self.last_span.is_absent() == span.is_absent()
        {
            return self.last;
        }
        let is_absent = span.is_absent();
        let hash = hash_of(token) ^ u64::from(is_absent);
        let same = |other: Span| other.is_absent() == is_absent && other.of(text) == token;
        let (code, _) = self.table.code(hash, span, same);
        (self.last, self.last_span) = (code, span);
        code
    }
}
