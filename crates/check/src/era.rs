//! Revisions: whether the server speaks the stateless one too, and how it answers one that does not exist.

use ridethrough::machine::discovery::{self, Verdict};
use ridethrough::server::Version;
use ridethrough_terminal::secrets;
use serde_json::Value;

use crate::finding::{Finding, Subject};
use crate::notes::Notes;
use crate::question::Visit;
use crate::seen::AnswerSeen;
use crate::wire::Wire;

/// The result of `server/discover`.
pub(crate) enum Era {
    /// Stateless, and not usable by us: it refuses our revision, or speaks only others.
    Foreign,
    Legacy,
    /// Stateless; this is its answer about itself.
    Modern(Box<AnswerSeen>),
    Unknown,
}

impl Era {
    /// Whether the server is stateless, if that is known.
    pub(crate) const fn is_modern(&self) -> Option<bool> {
        match self {
            Self::Foreign | Self::Modern(_) => Some(true),
            Self::Legacy => Some(false),
            Self::Unknown => None,
        }
    }
}

/// Asks for the stateless revision, with the one request that no older server can take for work.
pub(crate) async fn look(wire: &mut Wire) -> (Era, Finding) {
    match wire.ask(wire.stateless("server/discover", Value::Null)).await {
        Err(miss) => (Era::Unknown, unknown(miss.to_string())),
        Ok(seen) => match seen.unfinished() {
            Some(because) => (Era::Unknown, unknown(because)),
            None => judge(seen),
        },
    }
}

/// Reads an answer to `server/discover`, as our client would.
fn judge(seen: AnswerSeen) -> (Era, Finding) {
    let (modern, words) = (Version::V2026_07_28, seen.words());
    match discovery::verdict(seen.head.status, seen.answer.as_ref()) {
        Verdict::Modern(version) if seen.result().is_none() => {
            let what = format!("names the stateless revision {version}, and refuses it: {words}");
            (Era::Foreign, Subject::Protocol.warning("era", what))
        }
        Verdict::Modern(version) => {
            let what = format!("speaks the stateless revision {version}");
            (Era::Modern(Box::new(seen)), Subject::Protocol.good("era", what))
        }
        Verdict::Disjoint { supported } => {
            let supported = secrets::cut(&supported.join(", "));
            let what = format!("is stateless, of revisions unknown to us: {supported}");
            (Era::Foreign, Subject::Protocol.note("era", what))
        }
        Verdict::Refused => {
            let what = format!("is stateless, but refuses `server/discover`: {words}");
            (Era::Foreign, Subject::Protocol.warning("era", what))
        }
        Verdict::Legacy => {
            let what = format!(
                "does not speak the stateless revision {modern}: `server/discover` brings {words}"
            );
            (Era::Legacy, Subject::Protocol.note("era", what))
        }
        Verdict::NoEvidence => {
            let because = format!("`server/discover` brings {words}");
            (Era::Unknown, unknown(because))
        }
    }
}

fn unknown(because: String) -> Finding {
    Subject::Protocol.unknown("era", "the stateless revision", because)
}

/// Offers a revision that never existed: the answer must be one that the server speaks.
pub(crate) async fn offer_nonsense(wire: &mut Wire, notes: &mut Notes) {
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
    let visit = Visit::opened_by(&seen);
    wire.give_back(&visit).await;
    let answered = Some(visit.version).filter(|it| !it.is_empty());
    notes.add(match (answered, seen.no_evidence()) {
        (Some(version), _) if version == NO_REVISION => Subject::Protocol
            .warning(
                "negotiation",
                format!(
                    "agrees to revision {NO_REVISION}, which never \
                 was: it repeats what it is offered, so its word about revisions means nothing"
                ),
            )
            .advise("let the server answer with a revision that it speaks"),
        (Some(version), _) => {
            let version = secrets::cut(&version);
            Subject::Protocol.good(
                "negotiation",
                format!("offered an unknown revision, it answers with {version}"),
            )
        }
        (None, Some(because)) => {
            Subject::Protocol.unknown("negotiation", "an unknown revision", because)
        }
        (None, None) if seen.head.status.is_client_error() || seen.answer.is_some() => {
            let what = format!("refuses an unknown revision with {}", seen.words());
            Subject::Protocol.good("negotiation", what)
        }
        (None, None) => Subject::Protocol.note(
            "negotiation",
            format!("offered an unknown revision, it answers {}", seen.words()),
        ),
    });
}

/// Sends a revision in the header that is not the session's.
pub(crate) async fn misname(wire: &mut Wire, visit: &Visit, notes: &mut Notes) {
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
            "does not look at `MCP-Protocol-Version`: a wrong one is accepted, where 400 is \
                 the rule",
        ),
        Ok(seen) => match seen.no_evidence() {
            Some(because) => {
                Subject::Protocol.unknown("header", "a wrong `MCP-Protocol-Version`", because)
            }
            None => Subject::Protocol.note(
                "header",
                format!(
                    "answers {} to a wrong `MCP-Protocol-Version`, where 400 is the rule",
                    seen.words()
                ),
            ),
        },
    });
}

const NO_REVISION: &str = "1999-01-01";
