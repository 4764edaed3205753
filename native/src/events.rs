//! The events of a piece: their envelopes, and the arguments of the kinds in the plan.

use crate::columns::{KindColumns, OddValue, ABSENT, NO_CODE};
use crate::intern::{hash_of, Table, Tokens};
use crate::plan::{Pair, Plan};
use crate::scan::Scanner;
use crate::times::nanoseconds;
use crate::{Odd, Span};

const NO_COLUMNS: u32 = u32::MAX;
const MAX_UNKNOWN_PAIRS: usize = 1024;

/// Times of events.
#[derive(Default)]
pub struct Times {
    pub ns: Vec<i64>,
    pub odd: Vec<OddValue>,
}

impl Times {
    fn push(&mut self, text: &[u8], span: Span) {
        let plain = nanoseconds(span.of(text));
        if plain.is_none() && !span.is_absent() {
            self.odd.push(OddValue {
                row: self.ns.len() as u32,
                span,
            });
        }
        self.ns.push(plain.unwrap_or(ABSENT));
    }
}

/// (phase, category, pid, tid) as codes of their tokens.
type Group = [u32; 4];

/// The columns of a kind, as index; `NO_COLUMNS` where its arguments are not decoded.
type PairKind = u32;

/// All of a piece.
pub struct Events<'p> {
    pub groups: Table<Group>,
    pub group_tokens: [Tokens; 4],
    pub group_codes: Vec<u32>,
    pub names: Tokens,
    pub name_codes: Vec<i32>,
    pub ids: Tokens,
    pub id_codes: Vec<i32>,
    pub starts: Times,
    pub durations: Times,
    pub arguments: Vec<Span>,
    /// The row of each event among those of its kind.
    pub rows: Vec<u32>,
    pub kinds: Vec<KindColumns<'p>>,
    with_pid: u32,
    pair_kinds: Vec<Vec<Option<PairKind>>>,
    unknown_pairs: Vec<[Span; 2]>,
}

/// How a piece ended.
pub enum Decoded<'p> {
    Events(Box<Events<'p>>),
    /// The plan lacks these phases and categories.
    UnknownPairs(Vec<[Span; 2]>),
}

enum Stop {
    Odd,
    /// Arguments stand before what says how to read them.
    ArgumentsFirst,
}

impl From<Odd> for Stop {
    fn from(_: Odd) -> Self {
        Stop::Odd
    }
}

#[derive(Clone, Copy)]
struct Envelope {
    group: [Span; 4],
    name: Span,
    id: Span,
    start: Span,
    duration: Span,
    arguments: Span,
}

/// The columns of a piece, `[{…},{…}]`.
pub fn decode<'p>(text: &[u8], plan: &'p Plan) -> Result<Decoded<'p>, Odd> {
    if text.len() >= i32::MAX as usize || std::str::from_utf8(text).is_err() {
        return Err(Odd);
    }
    // Most files write what says how to read the arguments before them, so these are read at once;
    // of others they are skipped first and read at the end of the event.
    for arguments_last in [true, false] {
        let mut events = Events::new(plan);
        match events.read(text, plan, arguments_last) {
            Ok(()) if events.unknown_pairs.is_empty() => {
                return Ok(Decoded::Events(Box::new(events)));
            }
            Ok(()) => return Ok(Decoded::UnknownPairs(events.unknown_pairs)),
            Err(Stop::Odd) => return Err(Odd),
            Err(Stop::ArgumentsFirst) => {}
        }
    }
    Err(Odd)
}

impl<'p> Events<'p> {
    fn new(plan: &'p Plan) -> Self {
        Events {
            groups: Table::default(),
            group_tokens: Default::default(),
            group_codes: Vec::new(),
            names: Tokens::default(),
            name_codes: Vec::new(),
            ids: Tokens::default(),
            id_codes: Vec::new(),
            starts: Times::default(),
            durations: Times::default(),
            arguments: Vec::new(),
            rows: Vec::new(),
            kinds: plan.kinds.iter().map(KindColumns::new).collect(),
            with_pid: 0,
            pair_kinds: Vec::new(),
            unknown_pairs: Vec::new(),
        }
    }

    fn read(&mut self, text: &[u8], plan: &Plan, arguments_last: bool) -> Result<(), Stop> {
        let mut scanner = Scanner::new(text);
        scanner.blanks();
        scanner.expect(b'[')?;
        scanner.blanks();
        if scanner.peek() == b']' {
            scanner.at += 1;
        } else {
            loop {
                self.event(&mut scanner, plan, arguments_last)?;
                scanner.blanks();
                if scanner.peek() != b',' {
                    break;
                }
                scanner.at += 1;
                scanner.blanks();
            }
            scanner.expect(b']')?;
        }
        scanner.blanks();
        if scanner.at != text.len() {
            return Err(Stop::Odd);
        }
        // A name with an unescaped quote may have swallowed an event; the same test as Python's.
        let count = self.group_codes.len() as u32;
        if scanner.pid_words != count
            && (scanner.pid_words > count || scanner.pid_words > self.with_pid)
        {
            return Err(Stop::Odd);
        }
        for kind in &mut self.kinds {
            kind.finish();
        }
        Ok(())
    }

    fn event(
        &mut self,
        scanner: &mut Scanner,
        plan: &Plan,
        arguments_last: bool,
    ) -> Result<(), Stop> {
        let absent = Span::ABSENT;
        let mut event = Envelope {
            group: [absent; 4],
            name: absent,
            id: absent,
            start: absent,
            duration: absent,
            arguments: absent,
        };
        let mut kind: Option<PairKind> = None;
        scanner.expect(b'{')?;
        scanner.blanks();
        if scanner.peek() == b'}' {
            scanner.at += 1;
        } else {
            loop {
                self.member(scanner, plan, &mut event, &mut kind, arguments_last)?;
                scanner.blanks();
                if scanner.peek() != b',' {
                    break;
                }
                scanner.at += 1;
                scanner.blanks();
            }
            scanner.expect(b'}')?;
        }
        let text = scanner.text;
        let kind = match kind {
            Some(kind) => kind,
            None => self.kind_of(text, plan, event.group[0], event.group[1])?,
        };
        if !arguments_last && !event.arguments.is_absent() {
            if let Some(columns) = self.kinds.get_mut(kind as usize) {
                let after = std::mem::replace(&mut scanner.at, event.arguments.start as usize);
                let pid_words = scanner.pid_words; // counted when they were skipped
                columns.read(scanner)?;
                scanner.at = after;
                scanner.pid_words = pid_words;
            }
        }
        self.push(text, &event, kind);
        Ok(())
    }

    #[inline]
    fn member(
        &mut self,
        scanner: &mut Scanner,
        plan: &Plan,
        event: &mut Envelope,
        kind: &mut Option<PairKind>,
        arguments_last: bool,
    ) -> Result<(), Stop> {
        let key = scanner.key()?;
        let place = match key {
            b"ph" => &mut event.group[0],
            b"cat" => &mut event.group[1],
            b"pid" => &mut event.group[2],
            b"tid" => &mut event.group[3],
            b"name" => &mut event.name,
            b"id" => &mut event.id,
            b"ts" => &mut event.start,
            b"dur" => &mut event.duration,
            b"args" => {
                if scanner.peek() != b'{' || !event.arguments.is_absent() {
                    return Err(Stop::Odd);
                }
                let start = scanner.at;
                if arguments_last {
                    let [phase, category, ..] = event.group;
                    let known = self.kind_of(scanner.text, plan, phase, category)?;
                    *kind = Some(known);
                    match self.kinds.get_mut(known as usize) {
                        Some(columns) => columns.read(scanner)?,
                        None => {
                            scanner.value()?;
                        }
                    }
                } else {
                    scanner.value()?;
                }
                event.arguments = scanner.span(start);
                return Ok(());
            }
            _ => {
                scanner.value()?;
                return Ok(());
            }
        };
        if !place.is_absent() {
            return Err(Stop::Odd); // twice: the last one counts
        }
        if kind.is_some() && matches!(key, b"ph" | b"cat") {
            return Err(Stop::ArgumentsFirst);
        }
        *place = scanner.value()?;
        Ok(())
    }

    /// The kind of the events with this phase and category.
    #[inline]
    fn kind_of(
        &mut self,
        text: &[u8],
        plan: &Plan,
        phase: Span,
        category: Span,
    ) -> Result<PairKind, Odd> {
        let phase_code = self.group_tokens[0].code(text, phase) as usize;
        let category_code = self.group_tokens[1].code(text, category) as usize;
        let known = self
            .pair_kinds
            .get(phase_code)
            .and_then(|kinds| kinds.get(category_code));
        if let Some(Some(kind)) = known {
            return Ok(*kind);
        }
        let (phase_text, category_text) = (phase.of(text), category.of(text));
        let is_same = |pair: &&Pair| pair.phase == phase_text && pair.category == category_text;
        let kind = match plan.pairs.iter().find(is_same) {
            Some(pair) => {
                let columns = plan
                    .kinds
                    .iter()
                    .position(|kind| kind.number == pair.number);
                columns.map_or(NO_COLUMNS, |index| index as u32)
            }
            None if self.unknown_pairs.len() < MAX_UNKNOWN_PAIRS => {
                self.unknown_pairs.push([phase, category]);
                NO_COLUMNS
            }
            None => return Err(Odd),
        };
        if self.pair_kinds.len() <= phase_code {
            self.pair_kinds.resize(phase_code + 1, Vec::new());
        }
        let kinds = &mut self.pair_kinds[phase_code];
        if kinds.len() <= category_code {
            kinds.resize(category_code + 1, None);
        }
        kinds[category_code] = Some(kind);
        Ok(kind)
    }

    #[inline]
    fn push(&mut self, text: &[u8], event: &Envelope, kind: PairKind) {
        let mut group: Group = [0; 4];
        for (part, code) in group.iter_mut().enumerate() {
            *code = self.group_tokens[part].code(text, event.group[part]);
        }
        let mut bytes = [0u8; 16];
        for (part, code) in group.iter().enumerate() {
            bytes[4 * part..4 * part + 4].copy_from_slice(&code.to_le_bytes());
        }
        let (code, _) = self
            .groups
            .code(hash_of(&bytes), group, |other| other == group);
        self.group_codes.push(code);
        let pid = event.group[2];
        self.with_pid += u32::from(!pid.is_absent() && pid.of(text) != b"null");
        self.name_codes
            .push(code_of(&mut self.names, text, event.name));
        self.id_codes.push(code_of(&mut self.ids, text, event.id));
        self.starts.push(text, event.start);
        self.durations.push(text, event.duration);
        self.arguments.push(event.arguments);
        let row = match self.kinds.get_mut(kind as usize) {
            Some(columns) => {
                columns.rows += 1;
                columns.rows - 1
            }
            None => 0,
        };
        self.rows.push(row as u32);
    }
}

#[inline]
fn code_of(tokens: &mut Tokens, text: &[u8], span: Span) -> i32 {
    if span.is_absent() {
        NO_CODE
    } else {
        tokens.code(text, span) as i32
    }
}
