//! The handshake: whether this is an MCP server at all, and which revision it speaks with us.

use ridethrough::machine::head::{Content, Redirect};
use ridethrough::machine::session::SessionId;
use ridethrough::{Json, Version};

use super::finding::{Finding, Subject};
use super::seen::{Seen, cut};
use super::wire::{Ask, Miss, Visit, Wire, millis};
use super::{Notes, refusal};
use crate::exit::Exit;

/// A handshake that was done.
pub(super) struct Hello {
    pub(super) visit: Visit,
    /// What the header for a session held, whether or not it can be one.
    pub(super) issued: Option<Vec<u8>>,
    pub(super) has_tools: bool,
}

/// Shakes hands with the server, or says why that cannot be done and how the check ends.
pub(super) async fn look(wire: &mut Wire, notes: &mut Notes) -> Result<Hello, Exit> {
    let mut seen = ask(wire, notes).await?;
    for _ in 0..MOST_REDIRECTS {
        let Some(path) = same_origin(&seen) else { break };
        notes.add(moved(&seen, wire));
        wire.target = Some(path);
        seen = ask(wire, notes).await?;
    }
    let Some(result) = seen.result().filter(|it| version_of(it).is_some()).cloned() else {
        return Err(refusal::explain(&seen, wire, notes).await);
    };
    notes.figures.initialize_ms = Some(super::in_millis(seen.took));
    let version = version_of(&result).unwrap_or_default();
    introduce(&seen, &result, notes);
    notes.revision = Some(version.clone());
    notes.add(judge(&version));
    let session = seen.header("mcp-session-id").and_then(SessionId::new);
    let issued = seen.headers.get("mcp-session-id").map(|it| it.as_bytes().to_vec());
    let has_tools = result.member("capabilities").is_some_and(|it| it.member("tools").is_some());
    let hello = Hello { visit: Visit { session, version }, issued, has_tools };
    let ready = wire.ask(Ask::notification("notifications/initialized").of(&hello.visit)).await;
    notes.add(initialized(ready));
    Ok(hello)
}

async fn ask(wire: &mut Wire, notes: &mut Notes) -> Result<Seen, Exit> {
    let ask = wire.initialize(Version::LATEST_LEGACY.as_str());
    wire.ask(ask).await.map_err(|miss| {
        let (finding, exit) = refusal::unanswered(&miss);
        notes.add(finding);
        exit
    })
}

/// The path to go on with, if the server sent us to one of its own in a way that keeps the question.
fn same_origin(seen: &Seen) -> Option<String> {
    match (&seen.head.redirect, seen.head.status.as_u16()) {
        (Some(Redirect::SameOrigin(path)), 307 | 308) => Some(path.to_string()),
        _ => None,
    }
}

fn moved(seen: &Seen, wire: &Wire) -> Finding {
    let to = seen.head.redirect.as_ref().map(|it| cut(it.shown())).unwrap_or_default();
    let origin = wire.probe.endpoint().origin();
    Subject::Reach
        .note(
            "redirect",
            format!("sends everybody on to `{to}`, which costs each call a round trip"),
        )
        .advise(format!("use `{origin}{to}` as its URL"))
}

fn introduce(seen: &Seen, result: &Json, notes: &mut Notes) {
    let info = result.member("serverInfo");
    let text = |key: &str| info.as_ref()?.member(key)?.read::<String>();
    let name = [text("name"), text("version")].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let name = if name.is_empty() { "a server without a name".to_owned() } else { cut(&name) };
    let form = form(seen);
    let what = format!("{name} answers `initialize` {form} in {}", millis(seen.took));
    notes.server_name = Some(name);
    notes.add(Subject::Protocol.good("initialize", what));
}

/// The form of an answer, in words.
pub(super) fn form(seen: &Seen) -> &'static str {
    match (&seen.stream, seen.head.content) {
        (Some(_), _) => "as an event stream",
        (None, Content::Json) => "as JSON",
        _ => "without a content type",
    }
}

fn judge(version: &str) -> Finding {
    let newest = Version::LATEST_LEGACY.as_str();
    match Version::parse(version) {
        Some(known) if known == Version::LATEST_LEGACY => {
            Subject::Protocol.good("revision", format!("speaks revision {version}, as we offered"))
        }
        Some(known) if known.era().has_sessions() => Subject::Protocol
            .note("revision", format!("speaks revision {version}; we offered {newest}"))
            .advise(
                "a newer SDK in the server brings newer revisions; everything works with \
                 this one",
            ),
        _ => Subject::Protocol
            .bad(
                "revision",
                format!(
                    "answers with revision `{}`, which our client does not \
                 speak after a handshake: calls end as incompatible",
                    cut(version)
                ),
            )
            .advise(
                "update the server's SDK, or let it answer with the revision that it was \
                 offered",
            ),
    }
}

fn initialized(ready: Result<Seen, Miss>) -> Finding {
    match ready {
        Ok(seen) if seen.head.status.as_u16() == 202 => {
            Subject::Protocol.good("initialized", "accepts `notifications/initialized` with 202")
        }
        Ok(seen) if seen.head.status.is_success() => Subject::Protocol.note(
            "initialized",
            format!(
                "accepts `notifications/initialized` with {}, where 202 is the rule",
                seen.words()
            ),
        ),
        Ok(seen) => Subject::Protocol
            .bad(
                "initialized",
                format!(
                    "refuses `notifications/initialized` with {}: our \
                 client takes that for a failed handshake",
                    seen.words()
                ),
            )
            .advise("let the server answer 202 to notifications"),
        Err(miss) => Subject::Protocol.unknown("initialized", "`notifications/initialized`", miss),
    }
}

/// The revision in a result of `initialize`.
pub(super) fn version_of(result: &Json) -> Option<String> {
    result.member("protocolVersion")?.read()
}

/// As many as our client follows.
const MOST_REDIRECTS: usize = 5;
