//! The calls of a session that are under way: each has a number, and an id that no other has.
//!
//! Work in proportion to a client's body is done in [`NewCalls`], before any lock is taken.

use std::collections::HashSet;

use ridethrough_core::{Doubt, DoubtForm};
use ridethrough_wire::message::{ByKey, Id, Json, Key, Message};

use crate::parts::ParsedMessage;
use crate::repeats::{CallOrigin, Repeatable, Repeats};

/// The calls that are under way, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    all: Vec<Call>,
    /// The number of each call by its id, for a fast lookup: a client may send a thousand at once.
    ids: ByKey<u64>,
    last: u64,
}

/// A request of the client.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) id: Id,
    key: Key,
    pub(crate) number: u64,
    pub(crate) stream: u64,
    /// Whether a tool is called, and no task is asked for.
    pub(crate) is_of_tool: bool,
    /// What is kept for the time when its session may have ended.
    pub(crate) repeatable: Option<Repeatable>,
}

/// The calls of one POST, not added yet.
#[derive(Debug, Default)]
pub(crate) struct NewCalls(Vec<Call>);

/// Why calls are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotTaken {
    /// The id is that of a call under way.
    InUse,
    /// An id or a progress token is longer than the limit.
    TooLong,
    /// The limit on calls under way is reached.
    TooMany,
}

impl NewCalls {
    /// Reads the calls among these messages.
    pub(crate) fn read(parts: &[ParsedMessage]) -> Result<Self, NotTaken> {
        let mut calls = Vec::new();
        let mut ids = HashSet::new();
        for ParsedMessage { message, .. } in parts {
            let Message::Request { id, method, params } = message else { continue };
            let meta = params.as_ref().and_then(|params| params.member("_meta"));
            let token = meta.and_then(|meta| meta.member("progressToken"));
            let mut kept = token.iter().chain([id.json()]);
            if kept.any(|json| json.as_bytes().len() > LONGEST_ID) {
                return Err(NotTaken::TooLong);
            }
            let key = Key::of(id.json());
            if !ids.insert(key.clone()) {
                return Err(NotTaken::InUse);
            }
            let is_of_tool =
                DoubtForm::Result.of_request(method, params.as_ref()) == DoubtForm::Result;
            let (id, number, stream, repeatable) = (id.clone(), 0, 0, None);
            calls.push(Call { id, key, number, stream, is_of_tool, repeatable });
        }
        Ok(Self(calls))
    }

    /// Takes down what may be needed of each call when its session has ended. Returns the doubts that answer those of
    /// them that are not to be sent.
    pub(crate) fn note_repeats(
        &mut self,
        parts: &[ParsedMessage],
        repeats: &Repeats,
        origin: &CallOrigin,
    ) -> Vec<(Id, Doubt)> {
        let is_request = |it: &&ParsedMessage| matches!(it.message, Message::Request { .. });
        let mut held = Vec::new();
        for (call, part) in self.0.iter_mut().zip(parts.iter().filter(is_request)) {
            call.repeatable = repeats.of_request(part, origin);
            let doubt = call.repeatable.as_ref().and_then(|it| repeats.held(it));
            held.extend(doubt.map(|doubt| (call.id.clone(), doubt)));
        }
        held
    }

    /// Returns the first call.
    #[cfg(test)]
    pub(crate) fn into_first(self) -> Option<Call> {
        self.0.into_iter().next()
    }

    /// Returns how many calls there are.
    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }
}

impl Calls {
    /// Adds calls whose answers go to this stream: all of them, or none.
    pub(crate) fn add(&mut self, asked: NewCalls, stream: u64) -> Result<(), NotTaken> {
        let NewCalls(mut calls) = asked;
        if self.all.len() + calls.len() > MOST_CALLS {
            return Err(NotTaken::TooMany);
        }
        if calls.iter().any(|call| self.ids.get(&call.key).is_some()) {
            return Err(NotTaken::InUse);
        }
        for call in &mut calls {
            self.last += 1;
            (call.number, call.stream) = (self.last, stream);
            self.ids.insert(call.key.clone(), call.number);
        }
        self.all.append(&mut calls);
        Ok(())
    }

    /// Returns the call of this number.
    pub(crate) fn get(&self, number: u64) -> Option<&Call> {
        self.all.iter().find(|call| call.number == number)
    }

    /// Removes the call that the client means by this id.
    pub(crate) fn cancel(&mut self, id: &Json) -> Option<Call> {
        if id.as_bytes().len() > LONGEST_SPELLING {
            return None;
        }
        let number = self.ids.remove(&Key::of(id))?;
        self.remove(number)
    }

    /// Removes the call of this number.
    pub(crate) fn remove(&mut self, number: u64) -> Option<Call> {
        let at = self.all.iter().position(|call| call.number == number)?;
        let call = self.all.remove(at);
        self.ids.remove(&call.key);
        Some(call)
    }

    /// Whether no call is under way.
    pub(crate) const fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns all calls, the oldest first.
    pub(crate) fn all(&self) -> &[Call] {
        &self.all
    }

    /// Returns the streams of all calls, that of the newest call first.
    pub(crate) fn streams(&self) -> impl Iterator<Item = u64> {
        self.all.iter().rev().map(|call| call.stream)
    }
}

/// The most calls of one session that may be under way.
pub(crate) const MOST_CALLS: usize = 1000;
/// The longest id or token. They are kept while their calls run, and those of real clients have a few bytes.
pub(crate) const LONGEST_ID: usize = 1024;
/// The longest spelling of an id: JSON may spell one character by six.
pub(crate) const LONGEST_SPELLING: usize = 6 * LONGEST_ID;

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::parts::Parts;

    #[test]
    fn ids_and_tokens_that_are_too_long_to_be_kept_are_not_taken() {
        let long = "x".repeat(LONGEST_ID);
        for (text, taken) in [
            (r#"{"id":"ab","method":"m"}"#.to_owned(), Ok(1)),
            (format!(r#"{{"id":"{long}","method":"m"}}"#), Err(NotTaken::TooLong)),
            (format!(r#"{{"id":"{}","method":"m"}}"#, &long[2..]), Ok(1)),
            (
                format!(
                    r#"{{"id":1,"method":"m","params":{{"_meta":{{"progressToken":"{long}"}}}}}}"#
                ),
                Err(NotTaken::TooLong),
            ),
            (r#"{"method":"m"}"#.to_owned(), Ok(0)),
        ] {
            let parts = Parts::read(&Bytes::from(text)).unwrap().into_vec();

            assert_eq!(NewCalls::read(&parts).map(|asked| asked.len()), taken);
        }
    }

    #[test]
    fn calls_are_added_together_or_not_at_all() {
        let mut calls = Calls::default();
        calls.add(asked(r#"[{"id":1,"method":"m"}]"#), 1).unwrap();

        let refused = calls.add(asked(r#"[{"id":2,"method":"m"},{"id":1,"method":"m"}]"#), 2);

        assert_eq!(refused, Err(NotTaken::InUse));
        assert!(calls.cancel(&Json::new("2").unwrap()).is_none());
        assert!(calls.cancel(&Json::new("1").unwrap()).is_some());
        assert!(calls.is_empty());
    }

    #[test]
    fn a_request_is_cancelled_however_its_id_is_spelled() {
        for (id, spelled, is_cancelled) in [
            (r#""a/b""#, r#""a\/b""#, true),
            (r#""\u0061""#, r#""a""#, true),
            ("7", "7", true),
            ("7", "7.0", true),
            ("7", r#""7""#, false),
        ] {
            let mut calls = Calls::default();
            calls.add(asked(&format!(r#"{{"id":{id},"method":"m"}}"#)), 1).unwrap();

            let cancelled = calls.cancel(&Json::new(spelled.to_owned()).unwrap());

            assert_eq!(cancelled.is_some(), is_cancelled, "{spelled}");
        }
    }

    fn asked(text: &str) -> NewCalls {
        let text = text.to_owned();
        NewCalls::read(&Parts::read(&Bytes::from(text)).unwrap().into_vec()).unwrap()
    }
}
