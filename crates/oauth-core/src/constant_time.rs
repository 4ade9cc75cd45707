//! Compares secrets in a time that does not show how much of them is right.

use std::hint::black_box;

/// Whether both are equal. The time depends on their lengths only.
pub(crate) fn is_equal(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let difference =
        one.iter().zip(other).fold(0, |sum, (one, other)| black_box(sum | (one ^ other)));
    black_box(difference) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_equal_texts_are_equal() {
        assert!(is_equal(b"", b""));
        assert!(is_equal(b"abc", b"abc"));
        assert!(!is_equal(b"abc", b"abd"));
        assert!(!is_equal(b"xbc", b"abc"));
        assert!(!is_equal(b"abc", b"abcd"));
    }
}
