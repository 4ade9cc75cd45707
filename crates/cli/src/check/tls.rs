//! A port that speaks TLS and was sent plain HTTP: it closes the connection, answers bytes that are not HTTP,
//! or answers 400.

use std::time::Duration;

use ridethrough::Client;
use ridethrough::transport::Cause;
use tokio::time::timeout;

use super::Notes;
use super::finding::Subject;
use super::seen::AnswerSeen;
use super::wire::{Miss, Wire};
use crate::server::target;

/// Whether the outcome of a plain request is that of a port that expects TLS.
pub(super) fn is_likely(asked: Result<&AnswerSeen, &Miss>) -> bool {
    match asked {
        Ok(seen) => seen.head.status == 400 && seen.answer.is_none(),
        Err(Miss::Failed(failure)) => {
            matches!(failure.cause, Cause::Closed | Cause::Reset | Cause::Unreadable)
        }
        Err(Miss::Late | Miss::Silent) => false,
    }
}

/// Tries TLS on the port, and reports it if the port speaks it. Returns whether it does.
pub(super) async fn look(wire: &Wire, notes: &mut Notes) -> bool {
    let endpoint = wire.probe.endpoint();
    let shown = target::shown(endpoint);
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

const PATIENCE: Duration = Duration::from_secs(3);
