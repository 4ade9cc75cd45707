//! `requestState`: a sealed handle of a call that is held until its client comes back.
//!
//! It names the call, the principal, a digest of method and params, and an end of validity. A client can
//! neither read nor change it (AES-256-GCM; the key is made at start and never leaves the process).

use std::fmt;

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::rand;
use ridethrough_wire::message::Json;
use serde_json::Value;

use crate::backend::Caller;

/// The key that seals and opens handles.
pub(crate) struct Sealer(RandomizedNonceKey);

/// The contents of a `requestState`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Handle {
    /// The number of the held call.
    pub(crate) hold: u64,
    /// The end of its validity, in milliseconds since the server was made.
    pub(crate) expires: u64,
    pub(crate) principal: Digest,
    /// The digest of the call's method and params.
    pub(crate) subject: Digest,
}

/// A SHA-256 digest.
pub type Digest = [u8; 32];

impl Sealer {
    /// Creates a random key.
    pub(crate) fn new() -> Self {
        let mut key = [0; 32];
        rand::fill(&mut key).expect("the operating system has randomness");
        Self(RandomizedNonceKey::new(&AES_256_GCM, &key).expect("the key has the right length"))
    }

    pub(crate) fn seal(&self, handle: &Handle) -> String {
        let mut sealed = Vec::with_capacity(PLAIN + 32);
        sealed.extend_from_slice(&handle.hold.to_be_bytes());
        sealed.extend_from_slice(&handle.expires.to_be_bytes());
        sealed.extend_from_slice(&handle.principal);
        sealed.extend_from_slice(&handle.subject);
        let nonce = self.0.seal_in_place_append_tag(Aad::from(PURPOSE), &mut sealed);
        let nonce = nonce.expect("a short text can be sealed");
        hex(nonce.as_ref()) + &hex(&sealed)
    }

    /// Opens a handle; `None` if it was not sealed here, or was changed since.
    pub(crate) fn open(&self, state: &str) -> Option<Handle> {
        let mut bytes = from_hex(state)?;
        if bytes.len() != NONCE_LEN + PLAIN + AES_256_GCM.tag_len() {
            return None;
        }
        let mut sealed = bytes.split_off(NONCE_LEN);
        let nonce = Nonce::try_assume_unique_for_key(&bytes).ok()?;
        let plain = self.0.open_in_place(nonce, Aad::from(PURPOSE), &mut sealed).ok()?;
        let (hold, rest) = plain.split_first_chunk()?;
        let (expires, rest) = rest.split_first_chunk()?;
        let (principal, rest) = rest.split_first_chunk()?;
        let (subject, _) = rest.split_first_chunk()?;
        Some(Handle {
            hold: u64::from_be_bytes(*hold),
            expires: u64::from_be_bytes(*expires),
            principal: *principal,
            subject: *subject,
        })
    }
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sealer(..)")
    }
}

/// Returns the digest that identifies a call: of its method and params, without what differs from round to
/// round.
pub fn subject(method: &str, params: Option<&Json>) -> Digest {
    let params = params.map(|it| it.without(&["_meta", "inputResponses", "requestState"]));
    let params = params.unwrap_or_else(Json::empty_object);
    // A client may write the members of an object in another order the next time. Of large params this is not
    // expected: to sort them would cost many times their size.
    let is_small = params.as_bytes().len() <= LARGE;
    let canonical = is_small.then(|| params.read::<Value>()).flatten().map(|it| it.to_string());
    let canonical = canonical.as_deref().unwrap_or(params.as_str());
    sha256(&[method.as_bytes(), b"\0", canonical.as_bytes()].concat())
}

/// What identifies a principal at one endpoint.
pub(crate) fn principal(caller: &Caller) -> Digest {
    // A name has no line end.
    // The text of a debug print is quoted, so that no name runs into another.
    sha256(format!("{caller:?}").as_bytes())
}

fn sha256(text: &[u8]) -> Digest {
    digest(&SHA256, text).as_ref().try_into().expect("SHA-256 has 32 bytes")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    if text.len() > LONGEST || !text.len().is_multiple_of(2) {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).filter(|_| !byte.is_ascii_uppercase());
    let pair = |pair: &[u8]| u8::try_from(digit(pair[0])? * 16 + digit(pair[1])?).ok();
    text.as_bytes().chunks_exact(2).map(pair).collect()
}

const PURPOSE: &[u8] = b"ridethrough requestState 1";
/// The length of an unsealed handle: two numbers and two digests.
const PLAIN: usize = 2 * 8 + 2 * 32;
const LONGEST: usize = 1024;
/// Above this size, params are compared as they were written.
const LARGE: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_opened_by_who_sealed_it_and_by_no_other() {
        let (sealer, other) = (Sealer::new(), Sealer::new());
        let handle = handle();

        let state = sealer.seal(&handle);

        assert_eq!(sealer.open(&state), Some(handle.clone()));
        assert_eq!(other.open(&state), None);
        assert_ne!(sealer.seal(&handle), state, "two of one handle differ");
    }

    #[test]
    fn no_change_of_any_character_and_no_other_length_opens() {
        let sealer = Sealer::new();
        let state = sealer.seal(&handle());

        for at in 0..state.len() {
            let mut changed = state.clone().into_bytes();
            changed[at] = if changed[at] == b'0' { b'1' } else { b'0' };
            assert_eq!(sealer.open(&String::from_utf8(changed).unwrap()), None, "{at}");
        }
        for state in ["", "00", &state[2..], &format!("{state}00"), &state.to_uppercase(), "é"] {
            assert_eq!(sealer.open(state), None, "{state}");
        }
    }

    #[test]
    fn a_subject_is_one_call_whatever_the_order_of_its_members() {
        let of = |params: &str| subject("tools/call", Some(&Json::new(params.to_owned()).unwrap()));

        let one = of(r#"{"name":"t","arguments":{"a":1,"b":2}}"#);

        assert_eq!(
            one,
            of(r#"{"arguments":{"b":2,"a":1},"name":"t","_meta":{},"requestState":"x"}"#)
        );
        assert_ne!(one, of(r#"{"name":"t","arguments":{"a":1,"b":3}}"#));
        assert_ne!(
            one,
            subject(
                "prompts/get",
                Some(&Json::new(r#"{"name":"t","arguments":{"a":1,"b":2}}"#).unwrap())
            )
        );
    }

    fn handle() -> Handle {
        Handle { hold: 7, expires: 1 << 40, principal: [1; 32], subject: [2; 32] }
    }
}
