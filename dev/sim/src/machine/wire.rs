//! Checks that each request has the form of its era, independently of the code that wrote it.

use ridethrough_core::{Era, Outgoing, Verb};
use ridethrough_wire::message::Json;

/// Returns what is wrong with a request, if anything.
pub(crate) fn fault(request: &Outgoing) -> Option<String> {
    match request.to.era() {
        Era::Legacy => legacy_fault(request),
        Era::Modern => modern_fault(request),
    }
}

fn legacy_fault(request: &Outgoing) -> Option<String> {
    if let Some((name, _)) = request.headers.iter().find(|(name, _)| is_modern(name.as_str())) {
        return Some(format!("the header `{name}` in a session"));
    }
    let Verb::Post { body } = &request.verb else { return None };
    let text = std::str::from_utf8(body).ok()?;
    let said = MODERN_WORDS.into_iter().find(|word| text.contains(word))?;
    Some(format!("`{said}` in a session"))
}

fn modern_fault(request: &Outgoing) -> Option<String> {
    if request.to.session.is_some() {
        return Some("a session id in a stateless request".to_owned());
    }
    let Verb::Post { body } = &request.verb else {
        return Some(format!("{:?} in the stateless era", request.verb));
    };
    let message = Json::new(body.clone()).ok()?;
    let Some(method) = message.member("method").and_then(|it| it.read::<String>()) else {
        return Some("an answer to a stateless server".to_owned());
    };
    if LEGACY_METHODS.contains(&method.as_str()) {
        return Some(format!("`{method}` to a stateless server"));
    }
    message.member("id")?;
    let named = request.headers.iter().find(|(name, _)| name.as_str() == "mcp-method");
    if named.is_none_or(|(_, value)| value.as_bytes() != method.as_bytes()) {
        return Some(format!("`Mcp-Method` does not say `{method}`"));
    }
    let meta = message.member("params").and_then(|params| params.member("_meta"));
    let version = meta.and_then(|meta| meta.member("io.modelcontextprotocol/protocolVersion"));
    let version = version.and_then(|it| it.read::<String>());
    let header = request.to.version.map(|it| it.as_str().to_owned());
    (version != header).then(|| format!("`_meta` says {version:?}, the header {header:?}"))
}

fn is_modern(header: &str) -> bool {
    matches!(header, "mcp-method" | "mcp-name") || header.starts_with("mcp-param-")
}

const LEGACY_METHODS: [&str; 4] =
    ["initialize", "notifications/cancelled", "notifications/initialized", "ping"];
const MODERN_WORDS: [&str; 5] = [
    r#""io.modelcontextprotocol/protocolVersion""#,
    r#""requestState""#,
    r#""inputResponses""#,
    r#""method":"server/discover""#,
    r#""method":"subscriptions/listen""#,
];

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use ridethrough_core::session::SessionId;
    use ridethrough_core::{Address, AttemptId, CredentialsId, Headers, Lane, Route, Version};

    use super::*;

    #[test]
    fn a_clean_request_of_either_era_is_let_through() {
        let body = r#"{"id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;

        assert_eq!(fault(&modern(post(body), Some("tools/call"))), None);
        assert_eq!(fault(&legacy(post(r#"{"id":1,"method":"tools/call"}"#))), None);
        assert_eq!(fault(&legacy(Verb::Delete)), None);
    }

    #[test]
    fn legacy_things_in_the_modern_era_are_noticed() {
        let call = r#"{"id":1,"method":"tools/call","params":{}}"#;
        let ping = r#"{"id":1,"method":"ping"}"#;
        let cancelled = r#"{"method":"notifications/cancelled"}"#;
        let mut in_session = modern(post(call), Some("tools/call"));
        in_session.to.session = SessionId::new("s1");

        assert!(fault(&in_session).is_some());
        assert!(fault(&modern(Verb::Delete, None)).is_some());
        assert!(fault(&modern(Verb::Get { last_event_id: None }, None)).is_some());
        for body in [call, ping, cancelled, r#"{"id":1,"result":{}}"#] {
            assert!(fault(&modern(post(body), Some("tools/call"))).is_some(), "{body}");
        }
    }

    #[test]
    fn modern_things_in_the_legacy_era_are_noticed() {
        let mut named = legacy(post(r#"{"id":1,"method":"tools/call"}"#));
        named.headers = headers("tools/call");

        assert!(fault(&named).is_some());
        for word in MODERN_WORDS {
            assert!(fault(&legacy(post(&format!("{{{word}}}")))).is_some(), "{word}");
        }
    }

    fn modern(verb: Verb, method: Option<&str>) -> Outgoing {
        let to = Address { version: Some(Version::V2026_07_28), ..Address::default() };
        let headers = method.map(headers).unwrap_or_default();
        Outgoing { to, headers, ..legacy(verb) }
    }

    fn legacy(verb: Verb) -> Outgoing {
        Outgoing {
            attempt: AttemptId::new(1),
            verb,
            to: Address::default(),
            credentials: CredentialsId::new(0),
            headers: Headers::default(),
            lane: Lane::Call,
            route: Route::Any,
        }
    }

    fn post(body: &str) -> Verb {
        Verb::Post { body: Bytes::copy_from_slice(body.as_bytes()) }
    }

    fn headers(method: &str) -> Headers {
        let mut map = http::HeaderMap::new();
        map.insert("mcp-method", method.parse().expect("a method"));
        map.into()
    }
}
