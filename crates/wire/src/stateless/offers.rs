//! The questions that a client can answer.

use crate::message::Json;

/// The kinds of questions that a client can answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offers {
    forms: bool,
    roots: bool,
    sampling: bool,
    urls: bool,
}

impl Offers {
    /// Reads the capabilities of a client.
    pub fn of(capabilities: &Json) -> Self {
        let [elicitation, roots, sampling] =
            capabilities.pick(["elicitation", "roots", "sampling"]);
        let has = |key| elicitation.as_ref().is_some_and(|it| it.member(key).is_some());
        Self {
            // A client that names neither forms nor URLs means forms.
            forms: elicitation.is_some() && (has("form") || !has("url")),
            urls: has("url"),
            roots: roots.is_some(),
            sampling: sampling.is_some(),
        }
    }

    /// Whether the client can show a page to its person.
    pub const fn urls(self) -> bool {
        self.urls
    }

    /// Whether the client can answer this question.
    pub fn allow(self, method: &str, params: Option<&Json>) -> bool {
        match needed(method, params) {
            Some("roots") => self.roots,
            Some("sampling") => self.sampling,
            Some("elicitation.url") => self.urls,
            Some(_) => self.forms,
            None => false,
        }
    }
}

/// Returns the capability that a client needs to answer a question of this method.
pub fn needed(method: &str, params: Option<&Json>) -> Option<&'static str> {
    let mode = || params.and_then(|params| params.member("mode"));
    match method {
        "elicitation/create" => match mode().as_ref().and_then(Json::string).as_deref() {
            Some("url") => Some("elicitation.url"),
            _ => Some("elicitation.form"),
        },
        "roots/list" => Some("roots"),
        "sampling/createMessage" => Some("sampling"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_asked_only_what_it_offers_and_without_a_word_on_elicitation_forms() {
        let json = |text: &'static str| Json::new(text).unwrap();
        let offers = |text| Offers::of(&json(text));
        let (form, url) = (json(r#"{"mode":"form"}"#), json(r#"{"mode":"url"}"#));
        let elicited = |offers: Offers| {
            [Some(&form), None, Some(&url)].map(|params| offers.allow("elicitation/create", params))
        };

        assert_eq!(elicited(offers(r#"{"elicitation":{}}"#)), [true, true, false]);
        assert_eq!(elicited(offers(r#"{"elicitation":{"url":{}}}"#)), [false, false, true]);
        assert_eq!(elicited(offers(r#"{"elicitation":{"form":{},"url":{}}}"#)), [true, true, true]);
        assert_eq!(elicited(offers("{}")), [false; 3]);
        assert!(offers(r#"{"roots":{}}"#).allow("roots/list", None));
        assert!(offers(r#"{"sampling":{}}"#).allow("sampling/createMessage", None));
        assert!(!offers(r#"{"roots":{}}"#).allow("sampling/createMessage", None));
        assert!(!offers(r#"{"roots":{}}"#).allow("acme/ask", None));
    }
}
