//! What a client posts to `expose`, one message or a batch of 2025-03-26, compared with simple rules on what
//! `serde_json` reads.

use std::collections::{BTreeMap, HashSet};

use bytes::Bytes;
use ridethrough_server::{Rehearsal, rehearse};
use serde_json::Value;
use serde_json::value::RawValue;

/// Checks that a body is refused, or that each of its messages is one line of equal meaning, each call has
/// one answer, and the stream ends with the last. No two calls have one id, and there are no more messages
/// than the limit.
///
/// The first byte says how the body is made of the rest: unchanged, or repeated to about as many messages as
/// a batch may have.
pub fn batch(input: &[u8]) {
    let Some((how, text)) = input.split_first() else { return };
    let body = match how {
        250.. => repeated(text, MOST - 2 + usize::from(how - 250)),
        _ => Bytes::copy_from_slice(text),
    };
    let elements = serde_json::from_slice::<Vec<&RawValue>>(&body).ok();
    let whole = serde_json::from_slice::<&RawValue>(&body).ok().map(|it| vec![it]);
    match rehearse(&body) {
        Ok(done) => {
            check(&done);
            // `serde_json` refuses deep nesting.
            if let Some(elements) = elements.or(whole) {
                check_lines(&done, &elements);
            }
        }
        Err(why) => {
            let count = elements.as_ref().map(Vec::len);
            assert!(
                why != "TooMany" || count.is_none_or(|it| it > MOST),
                "{count:?} are not too many"
            );
            assert!(
                why == "TooMany" || count.is_none_or(|it| it <= MOST),
                "{count:?} are too many"
            );
            if why == "InUse"
                && let Some(elements) = elements
            {
                assert_ne!(are_different(&elements), Some(true), "all ids are different");
            }
        }
    }
}

fn repeated(text: &[u8], times: usize) -> Bytes {
    let all = vec![text; times].join(&b","[..]);
    [b"[", &*all, b"]"].concat().into()
}

fn check(done: &Rehearsal) {
    assert!((1..=MOST).contains(&done.lines.len()), "{} messages", done.lines.len());
    assert_eq!(done.answers.len(), done.calls, "each call has one answer");
    assert_eq!(done.is_over, done.calls > 0, "the last answer is the end");
    for line in &done.lines {
        assert!(!line.iter().any(|byte| matches!(byte, b'\n' | b'\r')), "a line has an end in it");
        let again = rehearse(line).expect("a message by itself");
        assert_eq!(again.lines, std::slice::from_ref(line), "a message is another one by itself");
    }
}

fn check_lines(done: &Rehearsal, elements: &[&RawValue]) {
    assert_eq!(done.lines.len(), elements.len());
    for (line, element) in done.lines.iter().zip(elements) {
        let value = |text: &[u8]| serde_json::from_slice::<Value>(text).ok();
        assert_eq!(value(line), value(element.get().as_bytes()), "a message was changed");
    }
    assert_ne!(are_different(elements), Some(false), "two calls have one id");
}

/// Whether all calls among these have different ids; `None` if `serde_json` cannot read them all.
fn are_different(elements: &[&RawValue]) -> Option<bool> {
    let read = |element: &&RawValue| serde_json::from_str(element.get()).ok();
    let messages: Vec<BTreeMap<_, _>> = elements.iter().map(read).collect::<Option<_>>()?;
    let mut seen = HashSet::new();
    Some(messages.iter().filter_map(id_of).all(|id| seen.insert(id)))
}

/// Returns the id of a call: a text in any spelling, or a number as it is spelled.
fn id_of(members: &BTreeMap<String, Box<RawValue>>) -> Option<Result<String, String>> {
    serde_json::from_str::<String>(members.get("method")?.get()).ok()?;
    let id = members.get("id")?.get();
    let is_id = id.starts_with(|first: char| matches!(first, '"' | '-' | '0'..='9'));
    is_id.then(|| serde_json::from_str::<String>(id).map_err(|_| id.to_owned()))
}

/// The most messages of a batch.
const MOST: usize = 1000;
