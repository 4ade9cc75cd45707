//! Reads the headers of a request: session, revision, the type of the body and the types that the client
//! accepts.

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName};

use crate::streams::Carries;

/// The headers of a request.
pub(crate) struct Headers<'a>(pub(crate) &'a HeaderMap);

impl Headers<'_> {
    pub(crate) fn session(&self) -> Option<&str> {
        self.text(SESSION)
    }

    /// Whether the request names a session.
    pub(crate) fn has_session(&self) -> bool {
        self.0.contains_key(SESSION)
    }

    /// Whether the request names more than one session.
    pub(crate) fn names_two_sessions(&self) -> bool {
        self.0.get_all(SESSION).iter().nth(1).is_some()
    }

    pub(crate) fn version(&self) -> Option<&str> {
        self.text(VERSION)
    }

    pub(crate) fn last_event(&self) -> Option<&str> {
        self.text(LAST_EVENT)
    }

    /// Whether the body is JSON.
    pub(crate) fn has_json(&self) -> bool {
        let kind = self.0.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        kind.is_some_and(|kind| media_type(kind).eq_ignore_ascii_case(JSON))
    }

    /// Returns how the request can be answered; `None` if the client accepts none of the server's types.
    /// Without an `Accept` header it accepts any.
    pub(crate) fn takes(&self) -> Option<Carries> {
        if self.accepts(EVENTS) {
            return Some(Carries::Everything);
        }
        self.takes_json().then_some(Carries::Answers)
    }

    /// Whether the client accepts JSON.
    pub(crate) fn takes_json(&self) -> bool {
        self.accepts(JSON)
    }

    /// Whether the client accepts an event stream.
    pub(crate) fn takes_events(&self) -> bool {
        self.takes() == Some(Carries::Everything)
    }

    fn accepts(&self, wanted: &str) -> bool {
        if !self.0.contains_key(ACCEPT) {
            return true;
        }
        let values = self.0.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        let family = wanted.split('/').next().unwrap_or_default();
        values.flat_map(|value| value.split(',')).filter(|range| !is_refusal(range)).any(|range| {
            let range = media_type(range);
            let is_of = |family: &str| {
                range.strip_suffix("/*").is_some_and(|it| it.eq_ignore_ascii_case(family))
            };
            range.eq_ignore_ascii_case(wanted) || range == "*/*" || is_of(family)
        })
    }

    fn text(&self, name: HeaderName) -> Option<&str> {
        self.0.get(name)?.to_str().ok()
    }
}

/// Returns the media type without its parameters.
fn media_type(text: &str) -> &str {
    text.split(';').next().unwrap_or_default().trim()
}

/// Whether a media range has `q=0`, which means "not this one" (RFC 9110, section 12.4.2).
fn is_refusal(range: &str) -> bool {
    let weights = range.split(';').skip(1).filter_map(|it| it.trim().strip_prefix("q="));
    weights.filter_map(|weight| weight.parse::<f32>().ok()).any(|weight| weight == 0.0)
}

pub(crate) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
pub(crate) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
pub(crate) const EVENTS: &str = "text/event-stream";
pub(crate) const JSON: &str = "application/json";

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn an_event_stream_is_sent_to_whoever_takes_one() {
        for (accept, expected) in [
            ("application/json, text/event-stream", Some(Carries::Everything)),
            ("text/event-stream", Some(Carries::Everything)),
            ("*/*", Some(Carries::Everything)),
            ("Application/JSON; charset=utf-8", Some(Carries::Answers)),
            ("application/*", Some(Carries::Answers)),
            ("application/json, text/event-stream;q=0", Some(Carries::Answers)),
            ("text/html", None),
            ("", None),
        ] {
            let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]);

            assert_eq!(Headers(&headers).takes(), expected, "{accept}");
        }
        assert_eq!(Headers(&HeaderMap::new()).takes(), Some(Carries::Everything));
    }

    #[test]
    fn only_json_is_read() {
        for (kind, expected) in [
            ("application/json", true),
            ("Application/JSON; charset=utf-8", true),
            ("text/plain", false),
            ("application/jsonp", false),
        ] {
            let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(kind))]);

            assert_eq!(Headers(&headers).has_json(), expected, "{kind}");
        }
        assert!(!Headers(&HeaderMap::new()).has_json());
    }
}
