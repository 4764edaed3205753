//! The answer to Python: one block of bytes with the places of its arrays at the start.

use crate::columns::{Column, OddValue};
use crate::events::{Decoded, Events, Times};
use crate::intern::Tokens;
use crate::{Odd, Span};

pub const HANDED_BACK: u64 = 0;
pub const EVENTS: u64 = 1;
pub const UNKNOWN_PAIRS: u64 = 2;

/// Arrays, each beginning at a multiple of eight bytes.
#[derive(Default)]
struct Arrays {
    bytes: Vec<u8>,
    places: Vec<(u64, u64)>,
}

impl Arrays {
    fn add<const N: usize>(&mut self, values: impl Iterator<Item = [u8; N]>) {
        let start = self.bytes.len();
        for value in values {
            self.bytes.extend_from_slice(&value);
        }
        self.places
            .push((start as u64, (self.bytes.len() - start) as u64));
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
    }

    fn spans(&mut self, spans: impl Iterator<Item = Span>) {
        self.add(
            spans.map(|span| (u64::from(span.start) | u64::from(span.end) << 32).to_le_bytes()),
        );
    }

    fn tokens(&mut self, tokens: &Tokens) {
        self.spans(tokens.spans());
    }

    fn odd(&mut self, odd: &[OddValue]) {
        self.add(odd.iter().map(|value| {
            let mut bytes = [0u8; 12];
            bytes[..4].copy_from_slice(&value.row.to_le_bytes());
            bytes[4..8].copy_from_slice(&value.span.start.to_le_bytes());
            bytes[8..].copy_from_slice(&value.span.end.to_le_bytes());
            bytes
        }));
    }

    fn times(&mut self, times: &Times) {
        self.add(times.ns.iter().map(|ns| ns.to_le_bytes()));
        self.odd(&times.odd);
    }

    fn column(&mut self, column: &Column) {
        self.add(column.integers.iter().map(|value| value.to_le_bytes()));
        self.add(column.floats.iter().map(|value| value.to_le_bytes()));
        self.add(column.codes.iter().map(|value| value.to_le_bytes()));
        self.tokens(&column.tokens);
        self.odd(&column.odd);
    }

    fn events(&mut self, events: &Events) {
        self.add(events.group_codes.iter().map(|code| code.to_le_bytes()));
        self.add(events.groups.keys().flatten().map(u32::to_le_bytes));
        for tokens in &events.group_tokens {
            self.tokens(tokens);
        }
        self.times(&events.starts);
        self.times(&events.durations);
        for (codes, tokens) in [
            (&events.name_codes, &events.names),
            (&events.id_codes, &events.ids),
        ] {
            self.add(codes.iter().map(|code| code.to_le_bytes()));
            self.tokens(tokens);
        }
        self.spans(events.arguments.iter().copied());
        self.add(events.rows.iter().map(|row| row.to_le_bytes()));
        for kind in &events.kinds {
            self.add(std::iter::once((kind.rows as u64).to_le_bytes()));
            self.add(kind.other_texts.iter().map(|row| row.to_le_bytes()));
            for column in &kind.columns {
                self.column(column);
            }
        }
    }

    /// Status, count of arrays, their places (offset and size in bytes), then the arrays.
    fn finish(self, status: u64) -> Vec<u8> {
        let head = 16 + 16 * self.places.len();
        let mut whole = Vec::with_capacity(head + self.bytes.len());
        whole.extend_from_slice(&status.to_le_bytes());
        whole.extend_from_slice(&(self.places.len() as u64).to_le_bytes());
        for (start, size) in self.places {
            whole.extend_from_slice(&(start + head as u64).to_le_bytes());
            whole.extend_from_slice(&size.to_le_bytes());
        }
        whole.extend_from_slice(&self.bytes);
        whole
    }
}

/// The block of bytes for a piece.
pub fn encode(decoded: Result<Decoded, Odd>) -> Vec<u8> {
    let mut arrays = Arrays::default();
    let status = match decoded {
        Err(Odd) => HANDED_BACK,
        Ok(Decoded::UnknownPairs(pairs)) => {
            arrays.spans(pairs.into_iter().flatten());
            UNKNOWN_PAIRS
        }
        Ok(Decoded::Events(events)) => {
            arrays.events(&events);
            EVENTS
        }
    };
    arrays.finish(status)
}
