//! Collects the field lines of one block until a blank line makes an event of them.
//!
//! A lone data line stays in the chunk or buffer that holds it, which the caller names as the `source`; the
//! caller settles the block before it drops that. The limit on the size of a block was enforced when its
//! lines were cut; nothing here counts.

use std::borrow::Cow;
use std::mem;
use std::ops::Range;
use std::time::Duration;

use bytes::Bytes;

use super::event::{EventId, SseEvent};

/// The fields of the block being read.
#[derive(Default)]
pub(super) struct Block {
    /// Whether any field took effect; a block of ignored lines is no event.
    recognised: bool,
    kind: Option<Box<str>>,
    data: Data,
    id: Option<EventId>,
    retry: Option<Duration>,
}

/// The data lines read so far; `ascii` is how many first bytes of a line are known to be ASCII.
#[derive(Default)]
enum Data {
    #[default]
    Absent,
    /// A single line that lies in the current source: most blocks end there too, and it is sliced only
    /// then, straight into the event.
    InSource { range: Range<usize>, ascii: usize },
    /// A single line that was sliced out of its source.
    Settled { line: Bytes, ascii: usize },
    /// Several lines. They are copied together at once: slices would each keep a whole chunk alive,
    /// and a server could make memory grow far past the limit.
    Joined(Vec<u8>),
}

impl Block {
    /// Takes in the field line that lies at `range` in `source`, its first `ascii` bytes being ASCII.
    pub(super) fn add(&mut self, source: &Bytes, range: Range<usize>, ascii: usize) {
        let line = source.get(range.clone()).unwrap_or_default();
        let Some(value) = value_of(b"data", line) else {
            self.recognised |= self.add_small(line);
            return;
        };
        let before = line.len() - value.len();
        self.data.push(source, range.start + before..range.end, ascii.saturating_sub(before));
        self.recognised = true;
    }

    /// Takes in the line `event: message`.
    pub(super) fn be_message(&mut self) {
        self.kind = None;
        self.recognised = true;
    }

    /// Detaches the block from its source, which is about to be dropped.
    pub(super) fn settle(&mut self, source: &Bytes) {
        if let Data::InSource { range, ascii } = &self.data {
            self.data = Data::Settled { line: source.slice(range.clone()), ascii: *ascii };
        }
    }

    /// Ends the block, and returns its event, if it has one; the next one starts empty.
    // Inlined, like `finish_with`, because the event is then built where the caller wants it: moving it twice
    // more makes decoding a small event a fifth slower.
    #[inline(always)]
    pub(super) fn finish(&mut self, source: &Bytes) -> Option<SseEvent> {
        if !self.recognised {
            return None;
        }
        let data = mem::take(&mut self.data).into_text(source);
        Some(self.finish_with(data))
    }

    /// Ends a block whose only data is this.
    #[inline(always)]
    pub(super) fn finish_with(&mut self, data: Bytes) -> SseEvent {
        self.recognised = false;
        SseEvent { data, kind: self.kind.take(), id: self.id.take(), retry: self.retry.take() }
    }

    pub(super) const fn has_data(&self) -> bool {
        !matches!(self.data, Data::Absent)
    }

    /// Takes in any field but data, and returns whether it had an effect.
    fn add_small(&mut self, line: &[u8]) -> bool {
        if let Some(value) = value_of(b"event", line) {
            self.set_kind(value);
            true
        } else if let Some(value) = value_of(b"id", line) {
            self.set_id(value)
        } else if let Some(value) = value_of(b"retry", line) {
            self.set_retry(value)
        } else {
            false
        }
    }

    // Most servers name the default kind explicitly; it needs no memory of its own.
    fn set_kind(&mut self, value: &[u8]) {
        self.kind = (!matches!(value, b"" | b"message")).then(|| text(value).into());
    }

    fn set_id(&mut self, value: &[u8]) -> bool {
        let is_valid = !value.contains(&0);
        if is_valid {
            self.id = Some(EventId::from(&*text(value)));
        }
        is_valid
    }

    // The standard lets `retry` take effect with its line, so even a block cut short by the end of the
    // stream would set it. Here it is reported with its block: what an unfinished block wanted is not
    // known, and a delay that is missed costs only the default one.
    fn set_retry(&mut self, value: &[u8]) -> bool {
        let is_valid = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
        if is_valid {
            let millis = value.iter().fold(0_u64, |millis, digit| {
                millis.saturating_mul(10).saturating_add(u64::from(digit - b'0'))
            });
            self.retry = Some(Duration::from_millis(millis));
        }
        is_valid
    }
}

impl Data {
    fn push(&mut self, source: &Bytes, range: Range<usize>, ascii: usize) {
        let first = match self {
            Self::Absent => {
                *self = Self::InSource { range, ascii };
                return;
            }
            Self::InSource { range, .. } => source.get(range.clone()).unwrap_or_default(),
            Self::Settled { line, .. } => line,
            Self::Joined(lines) => {
                lines.push(b'\n');
                lines.extend_from_slice(source.get(range).unwrap_or_default());
                return;
            }
        };
        *self = Self::Joined([first, source.get(range).unwrap_or_default()].join(&b'\n'));
    }

    #[inline(always)]
    fn into_text(self, source: &Bytes) -> Bytes {
        let (bytes, ascii) = match self {
            Self::Absent => return Bytes::new(),
            Self::InSource { range, ascii } => (source.slice(range), ascii),
            Self::Settled { line, ascii } => (line, ascii),
            Self::Joined(lines) => (lines.into(), 0),
        };
        let unknown = bytes.get(ascii..).unwrap_or_default();
        // Asking for ASCII first takes half the time, and gives up early if there is something else.
        if unknown.is_ascii() || str::from_utf8(unknown).is_ok() {
            return bytes;
        }
        repaired(&bytes)
    }
}

#[cold]
fn repaired(bytes: &[u8]) -> Bytes {
    String::from_utf8_lossy(bytes).into_owned().into()
}

/// Returns the bytes as text, with what is not UTF-8 replaced.
fn text(bytes: &[u8]) -> Cow<'_, str> {
    // The lossy conversion alone is several times slower for text that needs no repair.
    str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Returns the value of `line` if `name` is the name of its field; a line without a colon has an empty one.
fn value_of<'a, const N: usize>(name: &[u8; N], line: &'a [u8]) -> Option<&'a [u8]> {
    // The compiler knows the length, and compares without a call.
    let (first, rest) = line.split_first_chunk::<N>()?;
    match rest {
        _ if first != name => None,
        [] => Some(&[]),
        [b':', b' ', value @ ..] | [b':', value @ ..] => Some(value),
        _ => None,
    }
}
