//! Calls of a stateless caller: what a stateless server asks in the middle passes through, and nothing is held.
//!
//! ```text
//!   caller ──call──▶ gateway ──▶ server            server ──input_required, its state──▶ gateway
//!   caller ──call, answers, our state──▶ gateway ──answers, its state──▶ server
//! ```
//! Our state hides the server's, is bound to the principal, the server and the call, and is good once: a call
//! must not run twice because its last round came twice. Servers with sessions ask over their link, as they
//! ask callers with sessions.

use std::sync::Arc;

use ridethrough_server::Digest;
use ridethrough_wire::message::splice::{text, with_member};
use ridethrough_wire::message::{Answer, Json};

use super::context::Context;
use super::passing::{Request, try_to_pass};
use super::tasks;
use crate::fault;
use crate::sealed::{BadState, PATIENCE, RoundSubject};
use crate::upstreams::Upstream;

/// Makes a call that may have rounds, or become a task. `call` is the digest of the call as the caller wrote it.
pub(crate) async fn call(
    context: &Arc<Context>,
    upstream: &Arc<Upstream>,
    mut request: Request,
    call: Digest,
) -> Answer {
    let (sealer, rounds) = (&context.state.sealer, &context.state.rounds);
    let epoch = rounds.epoch();
    let subject = RoundSubject { caller: &context.caller, server: upstream.name(), call, epoch };
    let mut taken = None;
    if let Some(params) = &request.params
        && let Some(state) = params.member(STATE)
    {
        let opened = match sealer.round(&subject, &state.string().unwrap_or_default()) {
            Ok(opened) => opened,
            Err(bad) => return fault::bad_state(bad),
        };
        if !rounds.take(opened.number, PATIENCE).await {
            return fault::bad_state(BadState::Used);
        }
        taken = Some(opened.number);
        request.params = Some(match opened.of_server {
            Some(own) => with_member(params, STATE, &own),
            None => params.without(&[STATE]),
        });
    }
    let form = context.state.doubt.of_request(&request.method, request.params.as_ref());
    let declares_tasks = tasks::are_declared(request.capabilities.as_ref());
    let attempt = try_to_pass(context, upstream, request).await;
    if let Some(state) = taken.filter(|_| attempt.has_not_run()) {
        rounds.give_back(state).await;
    }
    let answer = attempt.said(upstream);
    let Answer::Result(result) = &answer else { return answer };
    let kind = result.member("resultType");
    match kind.as_ref().and_then(Json::string).as_deref() {
        None | Some("complete") => answer,
        Some("input_required") => {
            let state = sealer.round_state(&subject, result.member(STATE).as_ref());
            Answer::Result(with_member(result, STATE, &text(&state)))
        }
        Some("task") if declares_tasks => tasks::shown(context, upstream, answer).await,
        Some(_) => fault::unknown_type(upstream.name(), form),
    }
}

const STATE: &str = "requestState";
