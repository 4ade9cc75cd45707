//! What a request may hold in its era, checked without the core's own types.

use ridethrough_core::{Era, Eras, Outgoing, Verb};
use ridethrough_wire::message::Json;

/// Returns what is wrong with a request, if anything is.
pub(crate) fn fault(eras: Eras, request: &Outgoing) -> Option<String> {
    let era = request.to.era();
    if matches!(eras, Eras::Only(only) if only != era) {
        return Some(format!("{era:?} on a link that is pinned to the other era"));
    }
    match era {
        Era::Legacy => in_session(request),
        Era::Modern => stateless(request),
    }
}

/// Returns the method of a message that has one, and the id of a request.
pub(crate) fn named(request: &Outgoing) -> (Option<String>, Option<u64>) {
    let Verb::Post { body } = &request.verb else { return (None, None) };
    let message = Json::new(body.clone()).unwrap();
    let method = message.member("method").and_then(|it| it.read::<String>());
    (method, message.member("id").and_then(|it| it.read::<u64>()))
}

/// Returns the state that a call sends back to the server, as it was written.
pub(crate) fn state(request: &Outgoing) -> Option<String> {
    let Verb::Post { body } = &request.verb else { return None };
    let message = Json::new(body.clone()).unwrap();
    let state = message.member("params")?.member("requestState")?;
    Some(state.as_str().to_owned())
}

fn in_session(request: &Outgoing) -> Option<String> {
    let is_modern = |name: &str| name.starts_with("mcp-");
    if let Some((name, _)) = request.headers.iter().find(|(name, _)| is_modern(name.as_str())) {
        return Some(format!("`{name}` in a session"));
    }
    let Verb::Post { body } = &request.verb else { return None };
    let text = std::str::from_utf8(body).unwrap();
    let words = ["io.modelcontextprotocol/", "requestState", "inputResponses", "server/discover"];
    words.into_iter().find(|word| text.contains(word)).map(|word| format!("`{word}` in a session"))
}

fn stateless(request: &Outgoing) -> Option<String> {
    let Verb::Post { body } = &request.verb else {
        return Some(format!("{:?} to a stateless server", request.verb));
    };
    if request.to.session.is_some() {
        return Some("a session id to a stateless server".to_owned());
    }
    let (method, id) = named(request);
    let Some(method) = method else { return Some("an answer to a stateless server".to_owned()) };
    if matches!(
        method.as_str(),
        "initialize" | "notifications/cancelled" | "notifications/initialized" | "ping"
    ) {
        return Some(format!("`{method}` to a stateless server"));
    }
    id?;
    let header = request.headers.iter().find(|(name, _)| name.as_str() == "mcp-method");
    if header.is_none_or(|(_, value)| value.as_bytes() != method.as_bytes()) {
        return Some(format!("no header says `{method}`"));
    }
    let message = Json::new(body.clone()).unwrap();
    let meta = message.member("params").and_then(|params| params.member("_meta"));
    let said = meta.and_then(|meta| meta.member("io.modelcontextprotocol/protocolVersion"));
    let said = said.and_then(|version| version.read::<String>());
    let header = request.to.version.map(|version| version.as_str().to_owned());
    (said != header).then(|| format!("`_meta` says {said:?}, the header {header:?}"))
}
