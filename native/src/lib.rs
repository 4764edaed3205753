//! Decodes pieces of a Kineto trace into columns.
//!
//! Only what is regular is decoded; at anything odd the whole piece is handed back, and the Python
//! decoder of `importers/kineto`, which knows every repair and the meaning of every field, reads it.
//! So this crate knows nothing of traces but how an event is written. What it decodes of its
//! arguments, the `plan`, comes from Python with each piece.
//!
//! The interface is four C functions in `edge.rs`, the only place with `unsafe`.

#![deny(unsafe_code)]

pub mod columns;
pub mod edge;
pub mod events;
pub mod intern;
pub mod output;
pub mod plan;
pub mod scan;
pub mod times;

/// The piece is odd: Python reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Odd;

/// A range of bytes of the piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    /// The place of something that is not there.
    pub const ABSENT: Span = Span {
        start: u32::MAX,
        end: u32::MAX,
    };

    pub fn is_absent(self) -> bool {
        self.start == u32::MAX
    }

    pub fn of(self, text: &[u8]) -> &[u8] {
        if self.is_absent() {
            &[]
        } else {
            &text[self.start as usize..self.end as usize]
        }
    }
}
