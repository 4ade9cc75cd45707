//! Whether the server can be reached: name, socket, TLS, and which HTTP it speaks.

use std::net::IpAddr;
use std::time::Duration;

use ridethrough::Client;
use ridethrough::error::{Advice, Audience};
use ridethrough::probe::Line;
use ridethrough::transport::{Cause, Endpoint, Failure};
use ridethrough_config::address;
use tokio::time::timeout;

use crate::ended::Ended;
use crate::finding::{Finding, Subject};
use crate::notes::{Notes, in_millis};
use crate::seen::AnswerSeen;
use crate::wire::{Miss, Wire, millis};

/// Connects to the server. If that fails, the finding says why and what to do.
pub(crate) async fn look(wire: &mut Wire, notes: &mut Notes) -> Result<(), Ended> {
    let endpoint = wire.probe.endpoint().clone();
    let line = match wire.connect().await {
        Ok(line) => line,
        Err(Miss::Failed(failure)) => {
            notes.add(unreached(&endpoint, &failure));
            return Err(Ended::Unreachable);
        }
        Err(miss) => {
            let what = format!("not connected: {miss}");
            notes.add(Subject::Reach.bad("connect", what).advise("give it more time by --timeout"));
            return Err(Ended::Deadline);
        }
    };
    let steps = *line.steps();
    notes.figures.resolve_ms = steps.resolved.map(in_millis);
    notes.figures.connect_ms = steps.connected.map(in_millis);
    notes.figures.tls_ms = steps.secured.map(in_millis);
    notes.add(connected(line, endpoint.host_to_resolve().parse::<IpAddr>().is_err()));
    let http = if line.is_http2() { "HTTP/2" } else { "HTTP/1.1" };
    let security = steps
        .tls
        .map_or_else(|| if endpoint.is_tls() { "TLS" } else { "no TLS" }.to_owned(), str::to_owned);
    notes.add(Subject::Reach.good("http", format!("{http}, {security}")));
    if !address::is_safe_from_listeners(&endpoint) {
        notes.add(
            Subject::Safety
                .warning(
                    "clear",
                    "http to another machine: whoever is on the way reads and \
                     changes everything, tokens too",
                )
                .advise("use https, or keep the server on a network that you trust"),
        );
    }
    Ok(())
}

fn connected(line: &Line, has_name: bool) -> Finding {
    let steps = line.steps();
    let resolved = steps.resolved.filter(|_| has_name);
    let parts = [("name", resolved), ("TCP", steps.connected), ("TLS", steps.secured)];
    let parts: Vec<_> = parts
        .into_iter()
        .filter_map(|(name, time)| Some(format!("{name} {}", millis(time?))))
        .collect();
    let to = steps.peer.map(|peer| format!(" to {peer}")).unwrap_or_default();
    Subject::Reach.good("connect", format!("connected{to}: {}", parts.join(", ")))
}

fn unreached(endpoint: &Endpoint, failure: &Failure) -> Finding {
    let at = endpoint.authority();
    if failure.proxy.is_some() {
        let what = failure.words(Audience::CommandLine);
        return Subject::Reach
            .bad("proxy", what)
            .advise(Advice::CheckProxy.words(Audience::CommandLine));
    }
    if let Some(found) = without_tls(endpoint, failure) {
        return found;
    }
    let said = failure.advice.map(|it| it.words(Audience::CommandLine));
    let said = said.as_deref();
    let (what, advice) = match failure.cause {
        Cause::NameUnknown => (
            format!("the name `{}` is not known", endpoint.host_to_resolve()),
            "check the host in the URL for typing errors, then DNS, VPN and proxy of this machine",
        ),
        Cause::ConnectRefused => (
            format!("`{at}` refuses connections: {failure}"),
            "start the server, or correct host and port in the URL",
        ),
        Cause::ConnectTimedOut => (
            format!("`{at}` does not answer: {failure}"),
            "look for a firewall or a wrong address; behind a proxy, set `https_proxy`",
        ),
        Cause::BadCertificate => (
            format!("its certificate is not accepted: {}", detail(failure)),
            said.unwrap_or("give the server a certificate for this host"),
        ),
        Cause::TlsRefused => (
            format!("TLS was refused: {}", detail(failure)),
            said.unwrap_or(
                "check that this port speaks TLS, and whether it asks for a client certificate",
            ),
        ),
        Cause::Misconfigured => (
            format!("the way there cannot work: {failure}"),
            "check the URL, and the proxy that the environment names",
        ),
        _ => (
            format!("the connection to `{at}` broke before anything was said: {failure}"),
            "check that a server runs at this port, and what stands before it",
        ),
    };
    Subject::Reach.bad("connect", what).advise(advice)
}

/// Returns a finding if the TLS handshake failed as it does at a port without TLS.
fn without_tls(endpoint: &Endpoint, failure: &Failure) -> Option<Finding> {
    let (at, shown) = (endpoint.authority(), address::shown(endpoint));
    let rest = shown.strip_prefix("https://")?;
    let what = match failure.cause {
        Cause::TlsRefused if failure.advice == Some(Advice::WithoutTls) => {
            format!("`{at}` speaks no TLS, and the URL says https: {}", detail(failure))
        }
        Cause::Closed | Cause::Reset => format!("`{at}` hangs up on TLS: {failure}"),
        _ => return None,
    };
    let advice = format!("ask it by `http://{rest}` if it has no TLS, or correct the port");
    Some(Subject::Reach.bad("connect", what).advise(advice))
}

/// Whether the outcome of a plain request is that of a port that expects TLS: such a port closes the connection,
/// answers bytes that are not HTTP, or answers 400.
pub(crate) fn may_want_tls(asked: Result<&AnswerSeen, &Miss>) -> bool {
    match asked {
        Ok(seen) => seen.head.status == 400 && seen.answer.is_none(),
        Err(Miss::Failed(failure)) => {
            matches!(failure.cause, Cause::Closed | Cause::Reset | Cause::Unreadable)
        }
        Err(Miss::Late | Miss::Silent) => false,
    }
}

/// Tries TLS on the port, and reports it if the port speaks it. Returns whether it does.
pub(crate) async fn wants_tls(wire: &Wire, notes: &mut Notes) -> bool {
    let endpoint = wire.probe.endpoint();
    let shown = address::shown(endpoint);
    // Without an explicit port the `https` URL would lead to another one.
    let has_port = endpoint.authority().ends_with(&format!(":{}", endpoint.port()));
    let Some(rest) = shown.strip_prefix("http://").filter(|_| has_port) else { return false };
    let secure = format!("https://{}/", endpoint.authority());
    let Ok(probe) = Client::builder(&secure).probe() else { return false };
    // A certificate that is not accepted still shows that the port speaks TLS.
    let is_tls = match timeout(wire.left().min(PATIENCE), probe.connect()).await {
        Ok(Err(failure)) => failure.cause == Cause::BadCertificate,
        Ok(Ok(_)) => true,
        Err(_) => false,
    };
    if is_tls {
        // The HTTP version was reported before any request was answered.
        notes.findings.retain(|it| it.name != "http");
        let what = format!("`{}` speaks TLS, and the URL says plain http", endpoint.authority());
        let advice = format!("ask it by `https://{rest}`");
        notes.add(Subject::Reach.bad("http", what).advise(advice));
    }
    is_tls
}

/// Returns the detail of the layer below, or else the cause: both together would repeat each other.
fn detail(failure: &Failure) -> String {
    failure.detail.as_deref().map_or_else(|| failure.cause.to_string(), str::to_owned)
}

/// How long a try with TLS may take.
const PATIENCE: Duration = Duration::from_secs(3);
