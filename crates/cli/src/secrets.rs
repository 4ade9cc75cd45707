//! The one masker: what we show to servers, kept out of everything that is printed.
//!
//! Servers like to repeat the address and the headers that they were asked with. Whoever gives them secrets
//! names those here first, and whatever prints words of a server goes through `talk::safe`, which masks before
//! it does anything else. One set for the whole process, so that no way to a terminal can be forgotten.
//!
//! A token may be a word that we use ourselves. So words of a server are masked where they are put into a
//! sentence, and from the whole sentence only those secrets are taken out that cannot be words of it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, PoisonError, RwLock};

use ridethrough_core::secrets::Secrets;

static KNOWN: LazyLock<RwLock<Secrets>> = LazyLock::new(RwLock::default);
static WAS_MASKED: AtomicBool = AtomicBool::new(false);

/// Keeps the query of this URL out of all that is printed, and these values of headers.
pub(crate) fn keep(url: &str, shown: &[(&str, &str)]) {
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    keep_in(&mut known, url, shown);
}

/// The same, for somebody who has words of the server to pass on otherwise.
pub(crate) fn of(url: &str, shown: &[(&str, &str)]) -> Secrets {
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

/// The text without them.
pub(crate) fn masked(text: &str) -> String {
    let masked = KNOWN.read().unwrap_or_else(PoisonError::into_inner).masked(text);
    note(masked != text);
    masked
}

/// A sentence of ours without those that cannot be a word of it.
pub(crate) fn masked_in_ours(text: &str) -> String {
    let masked = KNOWN.read().unwrap_or_else(PoisonError::into_inner).masked_but_words(text);
    note(masked != text);
    masked
}

/// JSON without them, however its strings are written.
pub(crate) fn masked_json(json: &str) -> String {
    let masked = KNOWN.read().unwrap_or_else(PoisonError::into_inner).masked_json(json);
    note(masked.is_some());
    masked.unwrap_or_else(|| json.to_owned())
}

/// JSON of ours without those that cannot be a word of it.
pub(crate) fn masked_in_our_json(json: &str) -> String {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    let masked = known.masked_json_but_words(json);
    note(masked.is_some());
    masked.unwrap_or_else(|| json.to_owned())
}

/// As much of a server's words as fits into a sentence. A secret that is cut would not be known again.
pub(crate) fn cut(text: &str) -> String {
    let text = masked(text);
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// Whether something was masked so far: whoever reads data should know that it is not as it was sent.
pub(crate) fn was_masked() -> bool {
    WAS_MASKED.load(Ordering::Relaxed)
}

fn note(is_masked: bool) {
    if is_masked {
        WAS_MASKED.store(true, Ordering::Relaxed);
    }
}

/// What a sentence quotes of a server.
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
}
