//! Texts that clients carry for us, and can neither read nor change.
//!
//! One text is sealed in one way (AES-256-GCM-SIV, which needs no nonce to be safe): a client recognises what it
//! was given before. A process with the key opens what another has sealed.

use std::fmt;

use aws_lc_rs::aead::{AES_256_GCM_SIV, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::rand;

/// A key that seals and opens texts for clients. It is never printed.
pub struct SealKey(LessSafeKey);

impl SealKey {
    /// The length of a key in bytes.
    pub const LENGTH: usize = 32;

    /// Creates a key from secret bytes.
    pub fn new(secret: &[u8; Self::LENGTH]) -> Self {
        let key = UnboundKey::new(&AES_256_GCM_SIV, secret).expect("the key has the right length");
        Self(LessSafeKey::new(key))
    }

    /// Creates the bytes of a key at random.
    ///
    /// # Errors
    ///
    /// Fails if the operating system has no randomness.
    pub fn random() -> std::io::Result<[u8; Self::LENGTH]> {
        let mut secret = [0; Self::LENGTH];
        rand::fill(&mut secret)
            .map_err(|_| std::io::Error::other("the system gives no randomness"))?;
        Ok(secret)
    }

    /// Seals a text for a purpose. It can be opened only for that purpose, and only with the facts that it is
    /// bound to.
    pub fn seal(&self, purpose: &str, bound_to: &[&[u8]], text: &[u8]) -> Vec<u8> {
        let mut sealed = text.to_vec();
        let bound = Aad::from(joined(purpose, bound_to));
        let done = self.0.seal_in_place_append_tag(no_nonce(), bound, &mut sealed);
        done.expect("a short text can be sealed");
        sealed
    }

    /// Opens a text; `None` if it was not sealed with this key, for this purpose and with these facts, or was
    /// changed since.
    pub fn open(&self, purpose: &str, bound_to: &[&[u8]], sealed: &[u8]) -> Option<Vec<u8>> {
        let mut text = sealed.to_vec();
        let bound = Aad::from(joined(purpose, bound_to));
        let length = self.0.open_in_place(no_nonce(), bound, &mut text).ok()?.len();
        text.truncate(length);
        Some(text)
    }
}

impl fmt::Debug for SealKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealKey(..)")
    }
}

/// The cipher tells nothing of two texts under one nonce but whether they are equal.
fn no_nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; NONCE_LEN])
}

/// Joins facts in a way that no other facts give.
fn joined(purpose: &str, facts: &[&[u8]]) -> Vec<u8> {
    let mut joined = Vec::new();
    for fact in std::iter::once(&purpose.as_bytes()).chain(facts) {
        joined.extend_from_slice(&fact.len().to_be_bytes());
        joined.extend_from_slice(fact);
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_opened_only_with_its_key_for_its_purpose_and_with_its_facts() {
        let (key, other) = (key(1), key(2));

        let sealed = key.seal("task", &[b"ada", b"x"], b"text");

        assert_eq!(key.open("task", &[b"ada", b"x"], &sealed).as_deref(), Some(&b"text"[..]));
        assert_eq!(other.open("task", &[b"ada", b"x"], &sealed), None);
        assert_eq!(key.open("round", &[b"ada", b"x"], &sealed), None);
        assert_eq!(key.open("task", &[b"bob", b"x"], &sealed), None);
        assert_eq!(key.open("task", &[b"adax"], &sealed), None);
        assert_eq!(key.open("task", &[b"ad", b"ax"], &sealed), None);
    }

    #[test]
    fn no_change_of_any_bit_and_no_other_length_opens() {
        let key = key(1);
        let sealed = key.seal("task", &[], b"text");

        for bit in 0..sealed.len() * 8 {
            let mut changed = sealed.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(key.open("task", &[], &changed), None, "{bit}");
        }
        for length in 0..sealed.len() {
            assert_eq!(key.open("task", &[], &sealed[..length]), None, "{length}");
        }
    }

    #[test]
    fn one_text_is_sealed_in_one_way_also_by_another_process() {
        let sealed = key(1).seal("task", &[b"ada"], b"text");

        assert_eq!(key(1).seal("task", &[b"ada"], b"text"), sealed);
        assert_ne!(key(1).seal("task", &[b"ada"], b"texu"), sealed);
        assert!(!sealed.windows(4).any(|it| it == b"text"));
    }

    fn key(byte: u8) -> SealKey {
        SealKey::new(&[byte; SealKey::LENGTH])
    }
}
