//! The masker of this process: keeps secrets that we send to servers out of everything that is printed.
//!
//! Servers often repeat the address and the headers of a request. Code that sends secrets names them here
//! first, and code that prints words of a server goes through `safe`, which masks before it does
//! anything else. One set serves the whole process, so that no path to a terminal can miss it.
//!
//! A token may be a word that we use ourselves. So a server's words are masked where they are put into a
//! sentence, and from the whole sentence only those secrets are removed that cannot be words of it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, PoisonError, RwLock};

use ridethrough_wire::secrets::Secrets;

static KNOWN: LazyLock<RwLock<Secrets>> = LazyLock::new(RwLock::default);
/// Apart: a bridge gets a new token every hour, and what was configured must not be forgotten for it.
static TOKENS: LazyLock<RwLock<Secrets>> = LazyLock::new(RwLock::default);
static WAS_MASKED: AtomicBool = AtomicBool::new(false);

/// Keeps the query of this URL and these header values out of everything that is printed.
pub fn keep(url: &str, shown: &[(&str, &str)]) {
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    keep_in(&mut known, url, shown);
}

/// Keeps the token of a login out of everything that is printed, until many others have followed.
pub fn keep_token(token: &str) {
    TOKENS.write().unwrap_or_else(PoisonError::into_inner).keep(token);
}

/// Returns the secrets in the query of this URL and in these headers, for callers that mask by themselves.
pub fn of(url: &str, shown: &[(&str, &str)]) -> Secrets {
    let mut secrets = Secrets::default();
    keep_in(&mut secrets, url, shown);
    secrets
}

fn keep_in(secrets: &mut Secrets, url: &str, shown: &[(&str, &str)]) {
    if let Some((_, query)) = url.split_once('?') {
        secrets.keep_query(query);
    }
    for (name, value) in shown {
        secrets.keep_named(name, value);
    }
}

/// Returns the text without the known secrets.
pub fn masked(text: &str) -> String {
    without(text, Secrets::masked)
}

/// Returns a sentence of ours without the secrets that cannot be a word of it.
pub fn masked_in_ours(text: &str) -> String {
    without(text, Secrets::masked_but_words)
}

/// Returns JSON without the known secrets, whichever escapes its strings use.
pub fn masked_json(json: &str) -> String {
    without(json, |secrets, json| secrets.masked_json(json).unwrap_or_else(|| json.to_owned()))
}

/// Returns JSON of ours without the secrets that cannot be a word of it.
pub fn masked_in_our_json(json: &str) -> String {
    without(json, |secrets, json| {
        secrets.masked_json_but_words(json).unwrap_or_else(|| json.to_owned())
    })
}

fn without(text: &str, mask: impl Fn(&Secrets, &str) -> String) -> String {
    let mut masked = text.to_owned();
    for secrets in [&KNOWN, &TOKENS] {
        masked = mask(&secrets.read().unwrap_or_else(PoisonError::into_inner), &masked);
    }
    note(masked != text);
    masked
}

/// Returns the beginning of a server's words, short enough for a sentence. It masks first, because a secret
/// that is cut would not be recognised.
pub fn cut(text: &str) -> String {
    let text = masked(text);
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// Whether anything was masked so far. A reader of data is told that it is not as it was sent.
pub fn was_masked() -> bool {
    WAS_MASKED.load(Ordering::Relaxed)
}

fn note(is_masked: bool) {
    if is_masked {
        WAS_MASKED.store(true, Ordering::Relaxed);
    }
}

/// The most characters of a server's words in a sentence.
const LONGEST: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_at_the_edge_is_hidden_before_the_text_is_cut() {
        keep("https://example.com/mcp?v=1", &[("x-key", "s3cret-token")]);
        let long = format!("{} s3cret-token", "x".repeat(LONGEST - 6));

        assert_eq!(cut(&long), format!("{} ...", "x".repeat(LONGEST - 6)));
        assert_eq!(cut(&"y".repeat(LONGEST + 1)), format!("{}...", "y".repeat(LONGEST)));
        assert!(was_masked());
    }

    #[test]
    fn tokens_that_come_and_go_are_forgotten_in_the_end_and_what_was_configured_is_not() {
        keep("https://example.com/mcp", &[("x-key", "s3cret-for-ever")]);

        for number in 0..1000 {
            keep_token(&format!("t0ken-{number:04}-of-many"));
        }

        assert_eq!(masked("a s3cret-for-ever b"), "a ... b");
        assert_eq!(masked("a t0ken-0999-of-many b"), "a ... b");
        assert_eq!(masked("a t0ken-0000-of-many b"), "a t0ken-0000-of-many b");
    }
}
