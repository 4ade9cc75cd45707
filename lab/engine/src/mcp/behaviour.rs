//! What a correct server does with a request that no rule takes.

use bytes::Bytes;
use http::Method;
use serde_json::Value;

use super::ask::error_message;
use super::era::Era;
use super::state::{McpState, Style};
use super::{Ask, What, standing, stateless, subscription};
use crate::issuer::IssuerReply;

pub(super) async fn behave(ask: Ask) {
    if let Some(IssuerReply { status, headers, body, .. }) = ask.carry_out_login() {
        return send_whole(ask, WholeAnswer { status, headers, body: body.into() }).await;
    }
    if let Some(refusal) = refusal(&ask) {
        return send_whole(ask, refusal).await;
    }
    match ask.entry.what.clone() {
        What::Delete => end_session(ask).await,
        What::Listen => standing::listen(ask).await,
        What::Notification { .. } | What::Response => ask.status(202, &[], "").await,
        What::Other => {
            let error = ask.error(-32600, "Invalid Request");
            ask.status(400, &[JSON], error).await;
        }
        What::Request { method, .. } if ask.era == Era::Modern && method == LISTEN => {
            subscription::listen(ask).await;
        }
        What::Request { .. } => answer(ask).await,
        What::Resume => standing::resume(ask).await,
    }
}

/// An answer that is complete as it is.
pub(super) struct WholeAnswer {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Bytes,
}

/// Sends a complete answer.
pub(super) async fn send_whole(ask: Ask, WholeAnswer { status, headers, body }: WholeAnswer) {
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    ask.status(status, &headers, body).await;
}

/// Returns the refusal of a request that is refused before it is read any further.
pub(super) fn refusal(ask: &Ask) -> Option<WholeAnswer> {
    if let Some(refusal) = missing_bearer(ask) {
        return Some(refusal);
    }
    let state = ask.mcp().state();
    match ask.era {
        Era::Legacy => refused_session(ask, &state),
        Era::Modern => refused_stateless(ask, &state),
    }
}

fn refused_session(ask: &Ask, state: &McpState) -> Option<WholeAnswer> {
    if !state.issues_sessions || is_initialize(&ask.entry.what) {
        return None;
    }
    match &ask.entry.session {
        None => {
            let body = ask.error(-32000, "Bad Request: Mcp-Session-Id header is required");
            Some(WholeAnswer { status: 400, headers: owned(JSON), body })
        }
        Some(session) if state.knows(session, &ask.entry) => None,
        Some(_) => {
            let lost = &state.lost_session;
            let is_json = serde_json::from_slice::<Value>(&lost.body).is_ok();
            let headers = owned(if is_json { JSON } else { TEXT });
            Some(WholeAnswer { status: lost.status.as_u16(), headers, body: lost.body.clone() })
        }
    }
}

fn refused_stateless(ask: &Ask, state: &McpState) -> Option<WholeAnswer> {
    if ask.entry.http != Method::POST {
        let headers = owned(("allow", "POST"));
        return Some(WholeAnswer { status: 405, headers, body: Bytes::new() });
    }
    if ask.entry.what == What::Response {
        let body = ask.error(-32600, "Invalid Request: no answer is expected");
        return Some(WholeAnswer { status: 400, headers: owned(JSON), body });
    }
    let wrong = stateless::wrong(ask, state)?;
    let body = error_message(ask.id(), wrong.error()).to_string().into();
    Some(WholeAnswer { status: wrong.status, headers: owned(JSON), body })
}

/// Returns the refusal of a request without the token that is required.
pub(super) fn missing_bearer(ask: &Ask) -> Option<WholeAnswer> {
    let state = ask.mcp().state();
    let bearer = ask.entry.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
    let is_missing = state.bearer.is_some() && state.bearer.as_deref() != bearer;
    let refused = is_missing.then(|| (401, "Bearer".to_owned())).or_else(|| {
        let tool = match &ask.entry.what {
            What::Request { tool, .. } => tool.as_deref(),
            _ => None,
        };
        state.guard.as_ref().and_then(|guard| guard.refusal(bearer, tool))
    });
    refused.map(|(status, challenge)| {
        let headers = vec![("www-authenticate", challenge)];
        WholeAnswer { status, headers, body: Bytes::new() }
    })
}

fn owned((name, value): (&'static str, &str)) -> Vec<(&'static str, String)> {
    vec![(name, value.to_owned())]
}

fn is_initialize(what: &What) -> bool {
    matches!(what, What::Request { method, .. } if method == "initialize")
}

async fn end_session(ask: Ask) {
    {
        let mut state = ask.mcp().state();
        if let Some(session) = &ask.entry.session {
            state.sessions.remove(session);
            state.tapes.end(&ask.entry.session);
        }
    }
    ask.status(204, &[], "").await;
}

async fn answer(ask: Ask) {
    ask.run();
    let body = Bytes::from(ask.right_answer().to_string());
    let session = is_initialize(&ask.entry.what)
        .then(|| ask.mcp().state().issue_session(&ask.entry))
        .flatten();
    send(ask, session.as_deref(), &body).await;
}

/// Sends an answer in the server's style.
async fn send(ask: Ask, session: Option<&str>, body: &Bytes) {
    let style = ask.mcp().state().style;
    // This is JSON that the server wrote itself.
    let text = String::from_utf8_lossy(body);
    match style {
        Style::Json => {
            let session = session.map(|session| ("mcp-session-id", session));
            let headers: Vec<_> = [JSON].into_iter().chain(session).collect();
            ask.status(200, &headers, body.clone()).await;
        }
        Style::Sse => ask.sse_in(session).await.event_and_finish(None, &text).await,
        // Streams of the stateless revision cannot be resumed.
        Style::SseWithIds if ask.era == Era::Modern => {
            ask.sse_in(session).await.event_and_finish(None, &text).await;
        }
        Style::SseApart => {
            let mut sse = ask.sse_in(session).await;
            sse.event(None, &text).await;
            tokio::task::yield_now().await;
            sse.finish().await;
        }
        Style::SseWithIds => {
            let priming = String::new();
            let recorded = [priming, text.into_owned()];
            let events = ask.mcp().state().tapes.record_answer(recorded);
            let mut sse = ask.sse_in(session).await;
            for event in events {
                sse.event(Some(&event.id), &event.data).await;
            }
            sse.finish().await;
        }
    }
}

const LISTEN: &str = "subscriptions/listen";
const JSON: (&str, &str) = ("content-type", "application/json");
const TEXT: (&str, &str) = ("content-type", "text/plain");
