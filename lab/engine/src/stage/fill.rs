//! Fills the placeholders in the texts of a scenario.

use serde_json::Value;

use crate::issuer::{Addresses, origin};

/// The values of the placeholders in double braces.
#[derive(Clone, Debug)]
pub(super) struct Blanks {
    /// `{{id}}`: the request's id, as JSON.
    pub(super) id: String,
    /// `{{answer}}`: the whole correct answer, as JSON; `{{length}}` is its length in bytes.
    pub(super) answer: String,
    /// `{{url}}`: this server.
    pub(super) url: String,
    /// The addresses of all servers: `{{main}}`, `{{other}}` and `{{issuer}}`.
    pub(super) addresses: Addresses,
    /// The values that an authorization server has answered, by name.
    pub(super) issued: Vec<(&'static str, String)>,
}

impl Blanks {
    /// Returns the request's id.
    pub(super) fn id(&self) -> Value {
        serde_json::from_str(&self.id).unwrap_or_default()
    }

    pub(super) fn fill(&self, text: &str) -> String {
        if !text.contains("{{") {
            return text.to_owned();
        }
        let Addresses { main, other, issuer } = &self.addresses;
        let mut text = text.to_owned();
        let other_origin = origin(other).to_owned();
        let own = [
            ("url", &self.url),
            ("main", main),
            ("other", other),
            ("other_origin", &other_origin),
            ("issuer", issuer),
        ];
        let issued = self.issued.iter().map(|(name, value)| (*name, value));
        for (name, value) in own.into_iter().chain(issued) {
            text = text.replace(&format!("{{{{{name}}}}}"), value);
        }
        // The answer comes last, so that text of a client in it is not taken for a placeholder.
        text.replace("{{id}}", &self.id)
            .replace("{{length}}", &self.answer.len().to_string())
            .replace("{{answer}}", &self.answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_blank_is_filled_and_the_answer_is_not_searched_for_more() {
        let [id, answer] = ["7", r#"{"text":"{{id}}"}"#].map(str::to_owned);
        let [url, other] = ["http://a/mcp", "http://b/mcp"].map(str::to_owned);
        let addresses = Addresses { other, issuer: "http://c".to_owned(), ..Addresses::default() };
        let issued = vec![("code", "x".to_owned())];
        let blanks = Blanks { id, answer, url, addresses, issued };

        let filled =
            blanks.fill("{{id}} {{length}} {{url}} {{other}} {{issuer}} {{code}} {{answer}}");

        assert_eq!(filled, r#"7 17 http://a/mcp http://b/mcp http://c x {"text":"{{id}}"}"#);
    }
}
