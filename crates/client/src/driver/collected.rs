//! A body that is being collected.

use bytes::{Bytes, BytesMut};

/// A body that is being collected; one that arrives in one piece is not copied.
#[derive(Default)]
pub(super) struct Collected {
    first: Bytes,
    rest: BytesMut,
}

impl Collected {
    pub(super) fn len(&self) -> usize {
        self.first.len() + self.rest.len()
    }

    pub(super) fn push(&mut self, chunk: Bytes) {
        if self.len() == 0 {
            self.first = chunk;
            return;
        }
        if !self.first.is_empty() {
            self.rest.reserve(self.first.len() + chunk.len());
            self.rest.extend_from_slice(&std::mem::take(&mut self.first));
        }
        self.rest.extend_from_slice(&chunk);
    }

    pub(super) fn into_bytes(self) -> Bytes {
        if self.rest.is_empty() { self.first } else { self.rest.freeze() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_piece_is_not_copied_and_several_are_joined() {
        let piece = Bytes::from_static(b"one");
        let (mut single, mut joined) = (Collected::default(), Collected::default());

        single.push(piece.clone());
        for part in ["a", "", "bc", "d"] {
            joined.push(Bytes::from_static(part.as_bytes()));
        }

        assert_eq!(single.into_bytes().as_ptr(), piece.as_ptr());
        assert_eq!(joined.len(), 4);
        assert_eq!(joined.into_bytes(), "abcd");
    }
}
