//! Whether the server checks where a request comes from: a web page that a person visits can send requests to
//! servers on their machine (DNS rebinding), and `Origin` and `Host` reveal it.

use ridethrough::server::Version;
use ridethrough_config::address;
use serde_json::Value;

use crate::finding::{Finding, Subject};
use crate::notes::Notes;
use crate::question::Visit;
use crate::seen::AnswerSeen;
use crate::wire::{Miss, Wire};

pub(crate) async fn look(wire: &mut Wire, visit: &Visit, notes: &mut Notes) {
    let is_local = address::is_this_machine(wire.probe.endpoint());
    let has_token = wire.has_token;
    let seen = pretend(wire, visit, "origin", "http://attacker.example").await;
    notes.add(Guard { name: "origin", header: "`Origin`", is_local, has_token }.judge(seen));
    let is_http1 = wire.connect().await.is_ok_and(|line| !line.is_http2());
    if is_local && is_http1 {
        let seen = pretend(wire, visit, "host", "attacker.example").await;
        notes.add(Guard { name: "host", header: "`Host`", is_local, has_token }.judge(seen));
    }
}

/// Sends the first request of this visit's era as a foreign web page would.
async fn pretend(
    wire: &mut Wire,
    visit: &Visit,
    header: &'static str,
    value: &str,
) -> Result<AnswerSeen, Miss> {
    let ask = if visit.is_stateless() {
        wire.stateless("server/discover", Value::Null)
    } else {
        wire.initialize(Version::LATEST_LEGACY.as_str())
    };
    let seen = wire.ask(ask.header(header, value)).await?;
    wire.give_back(&Visit::opened_by(&seen)).await;
    Ok(seen)
}

/// A header that reveals a web page.
struct Guard {
    name: &'static str,
    header: &'static str,
    /// Whether the server is on this machine.
    is_local: bool,
    /// Whether a token was sent with the request.
    has_token: bool,
}

impl Guard {
    fn judge(&self, seen: Result<AnswerSeen, Miss>) -> Finding {
        let (name, header) = (self.name, self.header);
        let unknown = |because: String| {
            Subject::Safety.unknown(name, &format!("a foreign {header}"), because)
        };
        let seen = match seen {
            Err(miss) => return unknown(miss.to_string()),
            Ok(seen) => seen,
        };
        if seen.result().is_some() {
            return self.accepted();
        }
        let status = seen.head.status.as_u16();
        let is_mute = seen.head.status.is_success() && seen.answer.is_none();
        match seen.no_evidence() {
            Some(because) if !matches!(status, 401 | 403) => unknown(because),
            None if is_mute => unknown(seen.turned_away()),
            _ => {
                let is_odd = name == "origin" && status != 403;
                let rule = if is_odd { ", where 403 is the rule" } else { "" };
                let what = format!("refuses a foreign {header} with {}{rule}", seen.words());
                Subject::Safety.good(name, what)
            }
        }
    }

    fn accepted(&self) -> Finding {
        let (name, header) = (self.name, self.header);
        let what = format!("accepts a foreign {header}");
        match (self.is_local, self.has_token) {
            (true, has_token) => {
                let but =
                    if has_token { "; it has no token as was shown here, though" } else { "" };
                let what = format!(
                    "{what}: a web page can reach this server on your machine (DNS rebinding){but}"
                );
                let advice = format!(
                    "let the server refuse requests whose {header} it does not know, with 403"
                );
                Subject::Safety.warning(name, what).advise(advice)
            }
            (false, true) => Subject::Safety
                .note(name, format!("{what} with your token; a web page has no such token")),
            (false, false) => Subject::Safety
                .note(name, format!("{what}; without credentials a web page could use it")),
        }
    }
}
