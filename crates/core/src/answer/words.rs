//! The words of servers: the phrases by which they report a lost session, and the part of a refusal that
//! people are shown.
//!
//! The specification has one way to say that a session is gone (404 to a request that carried its id);
//! servers in use have many. A phrase is a reason to ask, never a proof.

use std::sync::Arc;

use ridethrough_wire::message::{Incoming, Message};

use crate::head::Content;

/// Whether a text contains a phrase by which servers report a lost session.
pub fn names_a_lost_session(words: &str) -> bool {
    let words = words.to_ascii_lowercase();
    names_no_handshake(&words) || PHRASES.iter().any(|phrase| words.contains(phrase))
}

/// Whether a text says that no handshake was made, as a server without session ids does when it has forgotten
/// the client.
pub fn names_no_handshake(words: &str) -> bool {
    words.to_ascii_lowercase().contains("server not initialized")
}

/// Returns the words of a refusal, without markup. `None` if it has none.
pub fn of_refusal(content: Content, body: &[u8]) -> Option<String> {
    // Everything beyond this would be cut off below.
    let start = &body[..body.len().min(LONGEST_READ)];
    if let Ok(Incoming::One(Message::Response { answer, .. })) =
        Incoming::parse(&bytes::Bytes::copy_from_slice(body))
        && let Some(error) = answer.error()
        && !error.message.is_empty()
    {
        return Some(error.message);
    }
    let text = String::from_utf8_lossy(start);
    let is_page = content == Content::Html
        || text.trim_start().to_ascii_lowercase().starts_with("<!doctype html");
    let text = if is_page { without_markup(&text) } else { text.into_owned() };
    (!text.trim().is_empty()).then_some(text)
}

/// Returns words of a server fit for people: one line of at most 500 characters, without control characters
/// and invisible ones. `None` if nothing is left.
pub(crate) fn quoted(text: &str) -> Option<Arc<str>> {
    let shown = excerpt(text);
    (!shown.is_empty()).then(|| shown.into())
}

/// Returns the beginning of a server's words: one line of at most 500 characters, without characters that
/// move, reverse or hide other text.
pub fn excerpt(words: &str) -> String {
    shortened(words, LONGEST_QUOTE)
}

/// Returns the first `most` characters of a text, on one line; an ellipsis marks what was cut off.
pub fn shortened(words: &str, most: usize) -> String {
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut letters = line.chars();
    let shown = |letter| if is_harmful(letter) || is_unseen(letter) { '\u{fffd}' } else { letter };
    let mut text: String = letters.by_ref().take(most).map(shown).collect();
    if letters.next().is_some() {
        text.pop();
        text.push('…');
    }
    text
}

/// Whether a character has no width of its own, so that a text can be hidden in another. Scripts and emoji
/// that join characters lose a little by this, but only where words are quoted.
const fn is_unseen(letter: char) -> bool {
    matches!(
        letter,
        '\u{ad}'
            | '\u{34f}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{200c}'..='\u{200d}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{ffa0}'
            | '\u{e0080}'..='\u{e0fff}'
    )
}

/// Returns the text on one line, safe for a terminal: characters with an effect become visible.
///
/// ```
/// use ridethrough_core::answer::words::harmless;
///
/// assert_eq!(harmless("a\x1b[2Jb\n"), "a\u{fffd}[2Jb\u{fffd}");
/// ```
pub fn harmless(text: &str) -> String {
    text.chars().map(|letter| if is_harmful(letter) { '\u{fffd}' } else { letter }).collect()
}

/// Whether a terminal would do something else than show this character.
pub fn is_harmful(letter: char) -> bool {
    // C0, DEL and C1; marks that reverse text; rare line ends; invisible characters. The joiners (200c, 200d)
    // are kept, because scripts and emoji need them.
    letter.is_control()
        || matches!(
            letter,
            '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'
                | '\u{200e}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// Returns the text of a web page, without tags and without the contents of scripts and styles.
fn without_markup(page: &str) -> String {
    let lower = page.to_ascii_lowercase();
    let (mut text, mut at) = (String::new(), 0);
    while let Some(open) = page[at..].find('<').map(|place| at + place) {
        text.push_str(&page[at..open]);
        text.push(' ');
        let hidden = ["script", "style"].into_iter().find(|tag| lower[open + 1..].starts_with(tag));
        let end = match hidden {
            Some(tag) => lower[open..].find(&format!("</{tag}")).map(|place| open + place + 2),
            None => Some(open + 1),
        };
        let close = end.and_then(|end| page[end..].find('>').map(|place| end + place + 1));
        match close {
            Some(close) => at = close,
            None => return text,
        }
    }
    text.push_str(&page[at..]);
    text
}

/// The phrases, collected from servers in use; lower case. A new one needs a recorded body as its test.
const PHRASES: [&str; 14] = [
    "expired session",
    "invalid or expired session",
    "invalid or missing session id",
    "invalid session id",
    "no valid session",
    "session expired",
    "session has expired",
    "session id is required",
    "session not found",
    "session terminated",
    "session-id header is required",
    "unknown mcp-session-id",
    "unknown on this instance",
    "unknown session",
];
/// The longest quotation: enough for a reason, too little for a page.
const LONGEST_QUOTE: usize = 500;
/// How much of a page is read to find its first words.
const LONGEST_READ: usize = 16 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recorded_body_is_recognised() {
        for words in include_str!("../../tests/dialects/recorded.txt").lines() {
            assert!(names_a_lost_session(words), "{words}");
        }
    }

    #[test]
    fn no_unrelated_body_is_recognised() {
        for words in include_str!("../../tests/dialects/unrelated.txt").lines() {
            assert!(!names_a_lost_session(words), "{words}");
        }
    }

    #[test]
    fn what_servers_say_cannot_move_the_cursor() {
        assert_eq!(
            harmless("a\u{1b}]0;x\u{7}\u{9b}31m\u{202e}\u{200b}\u{e0041}é"),
            "a\u{fffd}]0;x\u{fffd}\u{fffd}31m\u{fffd}\u{fffd}\u{fffd}é"
        );
    }

    #[test]
    fn joiners_stay_for_the_scripts_that_need_them() {
        assert_eq!(harmless("👩\u{200d}💻"), "👩\u{200d}💻");
    }

    #[test]
    fn the_words_of_a_refusal_are_its_text_whatever_it_is_wrapped_in() {
        let said = |content, body: &str| quoted(&of_refusal(content, body.as_bytes())?);

        assert_eq!(said(Content::Other, "  no\r\n  disk "), Some("no disk".into()));
        assert_eq!(
            said(Content::Json, r#"{"id":null,"error":{"code":1,"message":"no disk"}}"#),
            Some("no disk".into())
        );
        assert_eq!(
            said(Content::Json, r#"{"error": "no disk"}"#),
            Some(r#"{"error": "no disk"}"#.into())
        );
        let page = "<!DOCTYPE html><html><style>a{}</style><h1>502</h1>Bad <b>Gateway</b><script>x<y</script>";
        assert_eq!(said(Content::Html, page), Some("502 Bad Gateway".into()));
        assert_eq!(said(Content::Html, "<html><body"), None);
        assert_eq!(said(Content::Nothing, ""), None);
    }

    #[test]
    fn a_quotation_is_one_line_of_at_most_500_characters() {
        let long = quoted(&"é\u{1b}\n".repeat(600)).unwrap();

        assert_eq!(long.chars().count(), 500);
        assert!(long.ends_with('…') && !long.contains(['\u{1b}', '\n']));
    }
}
