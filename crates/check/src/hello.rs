//! The handshake: whether this is an MCP server at all, and which revision it speaks with us.

use ridethrough::Json;
use ridethrough::machine::head::Content;
use ridethrough::server::Version;
use ridethrough_terminal::secrets;

use crate::ended::Ended;
use crate::finding::{Finding, Subject};
use crate::notes::{Notes, in_millis};
use crate::question::{Ask, Visit};
use crate::seen::AnswerSeen;
use crate::wire::{Miss, Wire, millis};
use crate::{reach, redirect, refusal};

/// The result of a handshake.
pub(crate) struct Hello {
    pub(crate) visit: Visit,
    /// The value of the session header, whether or not it can be a session id.
    pub(crate) issued: Option<Vec<u8>>,
    pub(crate) has_tools: bool,
}

/// Does the handshake, or reports why it failed and how the check ends.
pub(crate) async fn look(wire: &mut Wire, notes: &mut Notes) -> Result<Hello, Ended> {
    let mut seen = ask(wire, notes).await?;
    let mut statuses = Vec::new();
    while let Some(path) = redirect::followed(&seen).filter(|_| statuses.len() < MOST_REDIRECTS) {
        statuses.push(seen.head.status.as_u16());
        wire.target = Some(path);
        seen = ask(wire, notes).await?;
    }
    if !seen.head.status.is_redirection() {
        redirect::moved(&statuses, wire).into_iter().for_each(|it| notes.add(it));
    }
    let Some((result, version)) = seen.result().cloned().zip(seen.version()) else {
        notes.challenge = refusal::challenge_of(&seen);
        let explained = refusal::explain(&seen, wire, notes).await;
        wire.give_back(&Visit::opened_by(&seen)).await;
        return explained.map(|discovered| stateless(&discovered, notes));
    };
    notes.figures.initialize_ms = Some(in_millis(seen.took));
    introduce(&seen, "initialize", &result, notes);
    notes.revision = Some(secrets::masked(&version));
    notes.add(judge(&version));
    let issued = seen.headers.get("mcp-session-id").map(|it| it.as_bytes().to_vec());
    let hello = Hello { visit: Visit::opened_by(&seen), issued, has_tools: has_tools(&result) };
    let ready = wire.ask(Ask::notification("notifications/initialized").of(&hello.visit)).await;
    notes.add(initialized(ready));
    Ok(hello)
}

/// Returns what stands in for a handshake with a stateless server: its answer to `server/discover`.
fn stateless(discovered: &AnswerSeen, notes: &mut Notes) -> Hello {
    let version = Version::V2026_07_28.as_str().to_owned();
    let result = discovered.result().cloned().unwrap_or_else(Json::empty_object);
    introduce(discovered, "server/discover", &result, notes);
    notes.revision = Some(version.clone());
    let visit = Visit { session: None, version };
    Hello { visit, issued: None, has_tools: has_tools(&result) }
}

fn has_tools(result: &Json) -> bool {
    result.member("capabilities").is_some_and(|it| it.member("tools").is_some())
}

async fn ask(wire: &mut Wire, notes: &mut Notes) -> Result<AnswerSeen, Ended> {
    let ask = wire.initialize(Version::LATEST_LEGACY.as_str());
    let asked = wire.ask(ask).await;
    if reach::may_want_tls(asked.as_ref()) && reach::wants_tls(wire, notes).await {
        // Ends as every other command does, none of which probes for TLS.
        return Err(asked.map_or_else(|miss| refusal::unanswered(&miss).1, |_| Ended::Protocol));
    }
    asked.map_err(|miss| {
        let (finding, exit) = refusal::unanswered(&miss);
        notes.add(finding);
        exit
    })
}

fn introduce(seen: &AnswerSeen, asked: &'static str, result: &Json, notes: &mut Notes) {
    let in_meta = || result.member("_meta")?.member("io.modelcontextprotocol/serverInfo");
    let info = result.member("serverInfo").or_else(in_meta);
    let text = |key: &str| info.as_ref()?.member(key)?.read::<String>();
    let parts = [text("name"), text("version")].into_iter().flatten();
    let parts: Vec<_> = parts.filter(|it| !it.trim().is_empty()).collect();
    let name = parts.join(" ");
    let name =
        if name.is_empty() { "a server without a name".to_owned() } else { secrets::cut(&name) };
    let form = form(seen);
    let what = format!("{name} answers `{asked}` {form} in {}", millis(seen.took));
    notes.server_name = Some(name);
    let about = if asked == "initialize" { "initialize" } else { "discover" };
    notes.add(Subject::Protocol.good(about, what));
}

/// Returns the form of an answer, in words.
fn form(seen: &AnswerSeen) -> &'static str {
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
                "a newer SDK in the server brings newer revisions; everything works with this one",
            ),
        _ => Subject::Protocol
            .bad(
                "revision",
                format!(
                    "answers with revision `{}`, which our client does not \
                 speak after a handshake: calls end as incompatible",
                    secrets::cut(version)
                ),
            )
            .advise(
                "update the server's SDK, or let it answer with the revision that it was offered",
            ),
    }
}

fn initialized(ready: Result<AnswerSeen, Miss>) -> Finding {
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
        Ok(seen) if seen.is_busy() => Subject::Protocol.unknown(
            "initialized",
            "`notifications/initialized`",
            seen.turned_away(),
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

/// The most redirects that are followed: as many as our client follows.
const MOST_REDIRECTS: usize = 5;
