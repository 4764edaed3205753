//! What is decoded of which events: the fields of every kind, and the kinds by phase and category.

use crate::intern::hash_of;
use crate::Odd;

/// How an argument is decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldType {
    Integer,
    Float,
    /// Any value, as its text.
    Token,
}

/// A key of an argument.
pub struct Field {
    pub key: Vec<u8>,
    pub field_type: FieldType,
    /// Whether a text here may be an annotation of a user.
    pub may_be_other_text: bool,
}

/// The arguments of one kind of event, looked up in a table of their keys.
pub struct Kind {
    pub number: u32,
    pub fields: Vec<Field>,
    /// Keys that are not decoded, and whose texts are no annotation of a user.
    known: Vec<Vec<u8>>,
    slots: Vec<u16>,
}

/// Added to the type of a field where a text may be an annotation of a user.
const OTHER_TEXT: u32 = 4;
const NO_FIELD: u16 = u16::MAX;
const MAX_FIELDS: usize = 64;

impl Kind {
    fn new(number: u32, fields: Vec<Field>, known: Vec<Vec<u8>>) -> Result<Self, Odd> {
        if fields.len() > MAX_FIELDS {
            return Err(Odd);
        }
        let mut slots = vec![NO_FIELD; 4 * MAX_FIELDS];
        for (index, field) in fields.iter().enumerate() {
            let mut slot = hash_of(&field.key) as usize & (slots.len() - 1);
            while slots[slot] != NO_FIELD {
                slot = (slot + 1) & (slots.len() - 1);
            }
            slots[slot] = index as u16;
        }
        Ok(Kind {
            number,
            fields,
            known,
            slots,
        })
    }

    /// Whether profilers write this key, decoded here or not.
    pub fn is_known(&self, key: &[u8]) -> bool {
        self.known.iter().any(|known| known == key)
    }

    /// The field with this key.
    #[inline]
    pub fn field_of(&self, key: &[u8]) -> Option<usize> {
        let mask = self.slots.len() - 1;
        let mut slot = hash_of(key) as usize & mask;
        while self.slots[slot] != NO_FIELD {
            let index = self.slots[slot] as usize;
            if self.fields[index].key == key {
                return Some(index);
            }
            slot = (slot + 1) & mask;
        }
        None
    }
}

/// The kind of the events with this phase and category, as their undecoded values.
pub struct Pair {
    pub phase: Vec<u8>,
    pub category: Vec<u8>,
    pub number: u32,
}

pub struct Plan {
    pub kinds: Vec<Kind>,
    pub pairs: Vec<Pair>,
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn number(&mut self) -> Result<u32, Odd> {
        let bytes = self.take(4)?;
        Ok(u32::from_le_bytes(bytes.try_into().map_err(|_| Odd)?))
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Odd> {
        if count > self.0.len() {
            return Err(Odd);
        }
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        Ok(taken)
    }

    fn text(&mut self) -> Result<Vec<u8>, Odd> {
        let size = self.number()? as usize;
        Ok(self.take(size)?.to_vec())
    }
}

impl Plan {
    /// Reads a plan: numbers are 32 bit little-endian, texts follow their length.
    ///
    /// Count of kinds; of each its number, count of fields, of each field type and key, count of other
    /// known keys, and these. Then count of pairs; of each phase, category (empty where absent) and number of the kind.
    pub fn read(bytes: &[u8]) -> Result<Plan, Odd> {
        let mut reader = Reader(bytes);
        let mut kinds = Vec::new();
        for _ in 0..reader.number()? {
            let number = reader.number()?;
            let mut fields = Vec::new();
            for _ in 0..reader.number()? {
                let description = reader.number()?;
                let field_type = match description & !OTHER_TEXT {
                    0 => FieldType::Integer,
                    1 => FieldType::Float,
                    2 => FieldType::Token,
                    _ => return Err(Odd),
                };
                fields.push(Field {
                    key: reader.text()?,
                    field_type,
                    may_be_other_text: description & OTHER_TEXT != 0,
                });
            }
            let mut known = Vec::new();
            for _ in 0..reader.number()? {
                known.push(reader.text()?);
            }
            kinds.push(Kind::new(number, fields, known)?);
        }
        let mut pairs = Vec::new();
        for _ in 0..reader.number()? {
            let (phase, category) = (reader.text()?, reader.text()?);
            pairs.push(Pair {
                phase,
                category,
                number: reader.number()?,
            });
        }
        Ok(Plan { kinds, pairs })
    }
}
