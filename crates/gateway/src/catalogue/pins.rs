//! Definitions that a person approved: a tool that changes afterwards is withheld.
//!
//! A server may describe a harmless tool until it is trusted, and another one later. What is compared is the
//! hash of the definition as the server wrote it.

use std::collections::BTreeMap;
use std::fmt::Write;

use ridethrough_wire::message::Json;
use sha2::{Digest, Sha256};

/// The hashes of the definitions that were approved, by the names of tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Approved(BTreeMap<String, String>);

/// How a definition compares with what was approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PinVerdict {
    Approved,
    Changed,
    /// No definition of this name was approved.
    New,
}

impl Approved {
    /// Approves these definitions, and no others.
    pub fn of<'a>(definitions: impl IntoIterator<Item = (&'a str, &'a Json)>) -> Self {
        let hashed = definitions.into_iter().map(|(name, it)| (name.to_owned(), hash(it)));
        Self(hashed.collect())
    }

    /// Reads hashes by name.
    pub fn from_hashes(hashes: BTreeMap<String, String>) -> Self {
        Self(hashes)
    }

    /// Returns the hashes by name.
    pub const fn hashes(&self) -> &BTreeMap<String, String> {
        &self.0
    }

    pub(crate) fn judge(&self, name: &str, definition: &Json) -> PinVerdict {
        match self.0.get(name) {
            Some(approved) if *approved == hash(definition) => PinVerdict::Approved,
            Some(_) => PinVerdict::Changed,
            None => PinVerdict::New,
        }
    }
}

fn hash(definition: &Json) -> String {
    let mut text = String::new();
    for byte in &Sha256::digest(definition.as_bytes())[..16] {
        write!(text, "{byte:02x}").expect("a string grows");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_is_approved_to_the_byte() {
        let json = |text: &'static str| Json::new(text).unwrap();
        let approved = Approved::of([("a", &json(r#"{"name":"a","n":1}"#))]);

        assert_eq!(approved.judge("a", &json(r#"{"name":"a","n":1}"#)), PinVerdict::Approved);
        assert_eq!(approved.judge("a", &json(r#"{"name":"a","n":2}"#)), PinVerdict::Changed);
        assert_eq!(approved.judge("b", &json(r#"{"name":"a","n":1}"#)), PinVerdict::New);
        assert_eq!(Approved::from_hashes(approved.hashes().clone()), approved);
    }
}
