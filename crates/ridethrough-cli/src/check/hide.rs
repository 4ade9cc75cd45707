//! Keeps keys out of what is shown: servers like to repeat the address and the headers that they were
//! asked with, and people put keys into both.

use std::rc::Rc;

use ridethrough::Endpoint;

/// What must not be shown, the longest first: a key may be part of another.
#[derive(Clone, Default)]
pub(super) struct Hide(Rc<[String]>);

impl Hide {
    /// These values, the query of an address, and each value in it, both as it is sent and as it is meant.
    pub(super) fn new<'a>(
        endpoint: &'a Endpoint,
        values: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let query = endpoint.path().split_once('?').map_or("", |(_, query)| query);
        let parts = query.split('&').map(|it| it.split_once('=').map_or(it, |(_, value)| value));
        let sent: Vec<_> = parts.chain([query]).chain(values).map(str::to_owned).collect();
        let meant: Vec<_> = sent.iter().map(|it| decoded(it)).collect();
        let mut all: Vec<_> = sent.into_iter().chain(meant).collect();
        // What is so short is no key, and would be found in any sentence.
        all.retain(|it| it.len() >= SHORTEST);
        all.sort_by(|one, two| two.len().cmp(&one.len()).then_with(|| one.cmp(two)));
        all.dedup();
        Self(all.into())
    }

    /// The text without it.
    pub(super) fn in_text(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, it| text.replace(it.as_str(), "..."))
    }

    /// As much of a server's words as fits into a sentence. A key that is cut would not be known again.
    pub(super) fn cut(&self, text: &str) -> String {
        let text = self.in_text(text);
        match text.char_indices().nth(LONGEST) {
            Some((end, _)) => format!("{}...", &text[..end]),
            None => text,
        }
    }
}

/// A value of a query as it is meant: `%2B` is a plus, and a plus is a space.
fn decoded(value: &str) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let coded = after.get(..2).filter(|_| byte == b'%');
        let coded = coded.and_then(|it| std::str::from_utf8(it).ok());
        match (byte, coded.and_then(|it| u8::from_str_radix(it, 16).ok())) {
            (_, Some(meant)) => {
                bytes.push(meant);
                rest = &after[2..];
                continue;
            }
            (b'+', _) => bytes.push(b' '),
            _ => bytes.push(byte),
        }
        rest = after;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

const SHORTEST: usize = 5;
const LONGEST: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_the_query_nor_a_value_of_it_is_shown() {
        let hide = hide("https://example.com/mcp?key=s3cret&v=1", &[]);

        assert_eq!(hide.in_text("no /mcp?key=s3cret&v=1 here"), "no /mcp?... here");
        assert_eq!(hide.in_text("1 bad key: s3cret"), "1 bad key: ...");
    }

    #[test]
    fn a_key_is_known_as_it_is_meant_too() {
        let hide = hide("https://example.com/mcp?s%33cret%2Fa+b&v=50%", &[]);

        assert_eq!(hide.in_text("bad: s3cret/a b"), "bad: ...");
        assert_eq!(hide.in_text("bad: s%33cret%2Fa+b"), "bad: ...");
    }

    #[test]
    fn a_key_that_holds_another_is_hidden_whole() {
        let hide = hide("https://example.com/mcp?a=s3cret", &["s3cret-and-more"]);

        assert_eq!(hide.in_text("s3cret-and-more, s3cret"), "..., ...");
    }

    #[test]
    fn a_key_at_the_edge_is_hidden_before_the_text_is_cut() {
        let hide = hide("https://example.com/mcp", &["s3cret-token"]);
        let long = format!("{} s3cret-token", "x".repeat(LONGEST - 6));

        assert_eq!(hide.cut(&long), format!("{} ...", "x".repeat(LONGEST - 6)));
        assert_eq!(hide.cut(&"y".repeat(LONGEST + 1)), format!("{}...", "y".repeat(LONGEST)));
    }

    fn hide(url: &str, values: &[&str]) -> Hide {
        Hide::new(&Endpoint::parse(url).unwrap(), values.iter().copied())
    }
}
