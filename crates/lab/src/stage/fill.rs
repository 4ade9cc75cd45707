//! Fills the placeholders in the texts of a scenario.

use serde_json::Value;

/// The values of the placeholders in double braces.
#[derive(Clone, Debug)]
pub(super) struct Blanks {
    /// `{{id}}`: the request's id, as JSON.
    pub(super) id: String,
    /// `{{answer}}`: the whole correct answer, as JSON; `{{length}}` is its length in bytes.
    pub(super) answer: String,
    /// `{{url}}`: this server.
    pub(super) url: String,
    /// `{{other}}`: the other server.
    pub(super) other: String,
}

impl Blanks {
    /// The request's id.
    pub(super) fn id(&self) -> Value {
        serde_json::from_str(&self.id).unwrap_or_default()
    }

    pub(super) fn fill(&self, text: &str) -> String {
        if !text.contains("{{") {
            return text.to_owned();
        }
        // The answer comes last, so that text of a client in it is not taken for a placeholder.
        text.replace("{{id}}", &self.id)
            .replace("{{length}}", &self.answer.len().to_string())
            .replace("{{url}}", &self.url)
            .replace("{{other}}", &self.other)
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
        let blanks = Blanks { id, answer, url, other };

        let filled = blanks.fill("{{id}} {{length}} {{url}} {{other}} {{answer}}");

        assert_eq!(filled, r#"7 17 http://a/mcp http://b/mcp {"text":"{{id}}"}"#);
    }
}
