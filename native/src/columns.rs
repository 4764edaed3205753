//! Columns of arguments, filled event by event.

use crate::intern::Tokens;
use crate::plan::{FieldType, Kind};
use crate::scan::{Number, Scanner};
use crate::{Odd, Span};

pub const ABSENT: i64 = i64::MIN;
pub const NO_CODE: i32 = -1;

/// A value that Python decodes: a text where a number is usual, a null, a larger number.
#[derive(Clone, Copy)]
pub struct OddValue {
    pub row: u32,
    pub span: Span,
}

#[derive(Default)]
pub struct Column {
    pub integers: Vec<i64>,
    pub floats: Vec<f64>,
    pub codes: Vec<i32>,
    pub tokens: Tokens,
    pub odd: Vec<OddValue>,
}

impl Column {
    #[inline]
    fn read(
        &mut self,
        scanner: &mut Scanner,
        row: usize,
        field_type: FieldType,
    ) -> Result<(), Odd> {
        let start = scanner.at;
        match field_type {
            FieldType::Token => {
                let span = scanner.value()?;
                self.codes.resize(row, NO_CODE);
                self.codes.push(self.tokens.code(scanner.text, span) as i32);
            }
            FieldType::Integer => match scanner.peek() {
                b'-' | b'0'..=b'9' => {
                    self.integers.resize(row, ABSENT);
                    match scanner.number()? {
                        Number::Integer(value) => self.integers.push(value),
                        Number::Other => self.add_odd(row, scanner.span(start)),
                    }
                }
                _ => {
                    let span = scanner.value()?;
                    self.add_odd(row, span);
                }
            },
            FieldType::Float => match scanner.peek() {
                b'-' | b'0'..=b'9' => {
                    self.floats.resize(row, f64::NAN);
                    match scanner.number()? {
                        Number::Integer(value) => self.floats.push(value as f64),
                        Number::Other => match float(scanner.span(start).of(scanner.text)) {
                            Some(value) => self.floats.push(value),
                            None => self.add_odd(row, scanner.span(start)),
                        },
                    }
                }
                _ => {
                    let span = scanner.value()?;
                    self.add_odd(row, span);
                }
            },
        }
        Ok(())
    }

    fn add_odd(&mut self, row: usize, span: Span) {
        self.odd.push(OddValue {
            row: row as u32,
            span,
        });
    }

    /// Fills up to `rows`, unless it has no value at all.
    pub fn finish(&mut self, rows: usize) {
        if !self.integers.is_empty() {
            self.integers.resize(rows, ABSENT);
        }
        if !self.floats.is_empty() {
            self.floats.resize(rows, f64::NAN);
        }
        if !self.codes.is_empty() {
            self.codes.resize(rows, NO_CODE);
        }
    }
}

/// A finite number with a point or an exponent; Python reads long integers.
fn float(token: &[u8]) -> Option<f64> {
    if !token.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E')) {
        return None;
    }
    let value: f64 = std::str::from_utf8(token).ok()?.parse().ok()?;
    value.is_finite().then_some(value)
}

/// The columns of one kind of event.
pub struct KindColumns<'p> {
    kind: &'p Kind,
    pub columns: Vec<Column>,
    pub rows: usize,
    /// Rows with a text under a key that the plan does not know.
    pub other_texts: Vec<u32>,
    /// The field that followed each field last time; texts of traces repeat their order.
    following: Vec<usize>,
}

impl<'p> KindColumns<'p> {
    pub fn new(kind: &'p Kind) -> Self {
        let count = kind.fields.len();
        let columns = (0..count).map(|_| Column::default()).collect();
        KindColumns {
            kind,
            columns,
            rows: 0,
            other_texts: Vec::new(),
            following: vec![0; count + 1],
        }
    }

    /// Reads an object of arguments into the next row, which is complete with the event.
    pub fn read(&mut self, scanner: &mut Scanner) -> Result<(), Odd> {
        scanner.expect(b'{')?;
        scanner.blanks();
        if scanner.peek() == b'}' {
            scanner.at += 1;
            return Ok(());
        }
        let mut seen: u64 = 0;
        let mut previous = self.kind.fields.len();
        loop {
            let key = scanner.key()?;
            let expected = self.following[previous];
            let field = if self
                .kind
                .fields
                .get(expected)
                .is_some_and(|field| field.key == key)
            {
                Some(expected)
            } else {
                self.kind.field_of(key)
            };
            match field {
                Some(index) => {
                    if seen >> index & 1 == 1 {
                        return Err(Odd); // twice: the last one counts
                    }
                    seen |= 1 << index;
                    self.following[previous] = index;
                    previous = index;
                    let field = &self.kind.fields[index];
                    let field_type = field.field_type;
                    if field.may_be_other_text && scanner.peek() == b'"' {
                        self.add_other_text();
                    }
                    self.columns[index].read(scanner, self.rows, field_type)?;
                }
                None => {
                    if scanner.peek() == b'"' && !self.kind.is_known(key) {
                        self.add_other_text();
                    }
                    scanner.value()?;
                }
            }
            scanner.blanks();
            if scanner.peek() != b',' {
                return scanner.expect(b'}');
            }
            scanner.at += 1;
            scanner.blanks();
        }
    }

    fn add_other_text(&mut self) {
        let row = self.rows as u32;
        if self.other_texts.last() != Some(&row) {
            self.other_texts.push(row);
        }
    }

    pub fn finish(&mut self) {
        for column in &mut self.columns {
            column.finish(self.rows);
        }
    }
}
