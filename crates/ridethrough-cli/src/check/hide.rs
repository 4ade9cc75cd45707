//! Keeps keys out of what is shown: servers like to repeat the address that they were asked at, and
//! people put keys into its query.

use ridethrough::Endpoint;

/// What must not be shown.
#[derive(Clone, Debug, Default)]
pub(super) struct Hide(Vec<String>);

impl Hide {
    /// The query of an address, and each value in it.
    pub(super) fn query_of(endpoint: &Endpoint) -> Self {
        let query = endpoint.path().split_once('?').map_or("", |(_, query)| query);
        let values = query.split('&').filter_map(|it| it.split_once('=')).map(|(_, value)| value);
        let mut all: Vec<_> = [query].into_iter().chain(values).map(str::to_owned).collect();
        // What is so short is no key, and would be found in any sentence.
        all.retain(|it| it.len() >= SHORTEST);
        Self(all)
    }

    /// The text without it.
    pub(super) fn in_text(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, it| text.replace(it.as_str(), "..."))
    }
}

const SHORTEST: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_the_query_nor_a_value_of_it_is_shown() {
        let endpoint = Endpoint::parse("https://example.com/mcp?key=s3cret&v=1").unwrap();
        let hide = Hide::query_of(&endpoint);

        assert_eq!(hide.in_text("no /mcp?key=s3cret&v=1 here"), "no /mcp?... here");
        assert_eq!(hide.in_text("1 bad key: s3cret"), "1 bad key: ...");
    }
}
