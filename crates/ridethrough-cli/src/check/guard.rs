//! Whether the server looks at who asks: a web page that somebody visits can reach for servers of
//! their machine (DNS rebinding), and `Origin` and `Host` give it away.

use ridethrough::Version;
use ridethrough::machine::session::SessionId;

use super::Notes;
use super::finding::{Finding, Subject};
use super::hello::version_of;
use super::reach::is_loopback;
use super::seen::Seen;
use super::wire::{Miss, Visit, Wire};

pub(super) async fn look(wire: &mut Wire, notes: &mut Notes) {
    let is_local = is_loopback(wire.probe.endpoint());
    let seen = pretend(wire, "origin", "http://attacker.example").await;
    notes.add(judge(seen, "origin", "`Origin`", is_local));
    let is_http1 = wire.connect().await.is_ok_and(|line| !line.is_http2());
    if is_local && is_http1 {
        let seen = pretend(wire, "host", "attacker.example").await;
        notes.add(judge(seen, "host", "`Host`", is_local));
    }
}

/// Shakes hands as a page of somebody else's would.
async fn pretend(wire: &mut Wire, header: &'static str, value: &str) -> Result<Seen, Miss> {
    let ask = wire.initialize(Version::LATEST_LEGACY.as_str()).header(header, value);
    let seen = wire.ask(ask).await?;
    let session = seen.header("mcp-session-id").and_then(SessionId::new);
    let version = seen.result().and_then(version_of).unwrap_or_default();
    wire.give_back(&Visit { session, version }).await;
    Ok(seen)
}

fn judge(seen: Result<Seen, Miss>, name: &'static str, header: &str, is_local: bool) -> Finding {
    let what = match seen {
        Err(miss) => return Subject::Safety.unknown(name, &format!("a foreign {header}"), miss),
        Ok(seen) if seen.result().is_none() => {
            let status = seen.head.status.as_u16();
            let is_odd = name == "origin" && status != 403;
            let rule = if is_odd { ", where 403 is the rule" } else { "" };
            let what = format!("refuses a foreign {header} with {}{rule}", seen.words());
            return Subject::Safety.good(name, what);
        }
        Ok(_) => format!("accepts a foreign {header}"),
    };
    match is_local {
        true => Subject::Safety
            .warning(
                name,
                format!("{what}: a web page can reach this server on your machine (DNS rebinding)"),
            )
            .advise(format!(
                "let the server refuse requests whose {header} it does not know, with 403"
            )),
        false => Subject::Safety
            .note(name, format!("{what}; without credentials a web page could use it")),
    }
}
