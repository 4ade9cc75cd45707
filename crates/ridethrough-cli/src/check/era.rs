//! Revisions: whether the stateless one is spoken too, and what becomes of one that nobody knows.

use ridethrough::{Json, Version};
use serde_json::{Value, json};

use super::Notes;
use super::finding::{Finding, Subject};
use super::hello::version_of;
use super::seen::Seen;
use super::wire::{Visit, Wire};
use ridethrough::machine::session::SessionId;

/// What `server/discover` showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Era {
    Legacy,
    Modern,
    Unknown,
}

/// Asks for the stateless revision, in the one way that no older server can take for work.
pub(super) async fn look(wire: &mut Wire) -> (Era, Finding) {
    let modern = Version::V2026_07_28.as_str();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": modern,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo":
            {"name": "ridethrough-check", "version": env!("CARGO_PKG_VERSION")},
    });
    let ask = wire.request("server/discover", json!({"_meta": meta}));
    let ask = ask.header("mcp-protocol-version", modern).header("mcp-method", "server/discover");
    match wire.ask(ask).await {
        Err(miss) => {
            (Era::Unknown, Subject::Protocol.unknown("era", "the stateless revision", miss))
        }
        Ok(seen) => match era_of(&seen) {
            Era::Modern => (
                Era::Modern,
                Subject::Protocol.good("era", format!("speaks the stateless revision {modern}")),
            ),
            Era::Legacy => {
                let what = format!(
                    "does not speak the stateless revision {modern}: `server/discover` brings {}",
                    seen.words()
                );
                (Era::Legacy, Subject::Protocol.note("era", what))
            }
            Era::Unknown => {
                let because = format!("`server/discover` brings {}", seen.words());
                (Era::Unknown, Subject::Protocol.unknown("era", "the stateless revision", because))
            }
        },
    }
}

/// Reads an answer to `server/discover`.
fn era_of(seen: &Seen) -> Era {
    let speaks = |json: &Json, key: &str| {
        let versions: Option<Vec<String>> = json.member(key).and_then(|it| it.read());
        versions.is_some_and(|it| it.iter().any(|it| it.as_str() >= Version::V2026_07_28.as_str()))
    };
    match seen.head.status.as_u16() {
        401 | 403 | 408 | 425 | 429 | 500..=599 => return Era::Unknown,
        _ => {}
    }
    match &seen.answer {
        Some(ridethrough::Answer::Result(result)) if speaks(result, "supportedVersions") => {
            Era::Modern
        }
        Some(ridethrough::Answer::Error(error)) => {
            let code = error.member("code").and_then(|it| it.read::<i64>());
            let data = error.member("data");
            match code == Some(-32022) && data.is_some_and(|it| speaks(&it, "supported")) {
                true => Era::Modern,
                false => Era::Legacy,
            }
        }
        _ => Era::Legacy,
    }
}

/// Offers a revision that never was: the answer must be one that the server speaks.
pub(super) async fn offer_nonsense(wire: &mut Wire, notes: &mut Notes) {
    let ask = wire.initialize(NO_REVISION);
    let seen = match wire.ask(ask).await {
        Err(miss) => {
            return notes.add(Subject::Protocol.unknown(
                "negotiation",
                "an unknown revision",
                miss,
            ));
        }
        Ok(seen) => seen,
    };
    let session = seen.header("mcp-session-id").and_then(SessionId::new);
    let answered = seen.result().and_then(version_of);
    wire.give_back(&Visit { session, version: answered.clone().unwrap_or_default() }).await;
    notes.add(match answered {
        Some(version) if version == NO_REVISION => Subject::Protocol
            .warning("negotiation", format!("agrees to revision {NO_REVISION}, which never was: it repeats what it is offered, so its word about revisions means nothing"))
            .advise("let the server answer with a revision that it speaks"),
        Some(version) => {
            let version = super::seen::cut(&version);
            Subject::Protocol.good("negotiation", format!("offered an unknown revision, it answers with {version}"))
        }
        None if seen.head.status.is_client_error() || seen.answer.is_some() => {
            Subject::Protocol.good("negotiation", format!("refuses an unknown revision with {}", seen.words()))
        }
        None => Subject::Protocol.note("negotiation", format!("offered an unknown revision, it answers {}", seen.words())),
    });
}

/// Names a revision in the header that is not the session's.
pub(super) async fn misname(wire: &mut Wire, visit: &Visit, notes: &mut Notes) {
    let has_header = Version::parse(&visit.version).is_some_and(Version::has_version_header);
    if !has_header {
        return;
    }
    let ask = wire.request("ping", Value::Null).of(visit);
    let seen = wire.ask(ask.header("mcp-protocol-version", NO_REVISION)).await;
    notes.add(match seen {
        Err(miss) => Subject::Protocol.unknown("header", "a wrong `MCP-Protocol-Version`", miss),
        Ok(seen) if seen.head.status.as_u16() == 400 => {
            Subject::Protocol.good("header", "refuses a wrong `MCP-Protocol-Version` with 400")
        }
        Ok(seen) if seen.result().is_some() => Subject::Protocol.note(
            "header",
            "does not look at `MCP-Protocol-Version`: a wrong one is accepted, where 400 is the rule",
        ),
        Ok(seen) => Subject::Protocol
            .note("header", format!("answers {} to a wrong `MCP-Protocol-Version`, where 400 is the rule", seen.words())),
    });
}

const NO_REVISION: &str = "1999-01-01";
