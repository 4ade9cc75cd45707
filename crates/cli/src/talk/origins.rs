//! The word that each argument comes from, so that an error can repeat what was typed.

use ridethrough::Json;
use serde_json::Value;

/// The words that arguments come from.
#[derive(Default)]
pub(super) struct Origins {
    /// The place of a word's value, as a JSON pointer, and the word.
    words: Vec<(String, String)>,
    /// The arguments, if they were typed as one object.
    whole: Option<Value>,
}

impl Origins {
    /// Returns the origins of arguments that were typed as one object.
    pub(super) fn whole(json: &Json) -> Self {
        Self { words: Vec::new(), whole: json.read() }
    }

    pub(super) fn note(&mut self, pointer: &str, word: &str) {
        self.words.push((pointer.to_owned(), word.to_owned()));
    }

    /// Returns what was typed for the value at this place.
    pub(super) fn typed(&self, pointer: &str) -> Option<String> {
        let is_in = |at: &str| {
            pointer.strip_prefix(at).is_some_and(|it| it.is_empty() || it.starts_with('/'))
        };
        let word = self.words.iter().filter(|(at, _)| is_in(at)).max_by_key(|(at, _)| at.len());
        let value = self.whole.as_ref().filter(|_| !pointer.is_empty());
        word.map(|(_, word)| word.clone())
            .or_else(|| value?.pointer(pointer).map(|it| shown(&it.to_string())))
    }
}

/// Returns the beginning of what was typed, as an error repeats it.
pub(super) fn shown(typed: &str) -> String {
    match typed.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &typed[..end]),
        None => typed.to_owned(),
    }
}

const LONGEST: usize = 60;
