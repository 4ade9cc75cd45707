//! Passing a request on to a server: within what its principal may, over a link, in a place.

use std::sync::Arc;
use std::time::Duration;

use ridethrough_core::message::reserved::CAPABILITIES;
use ridethrough_core::message::{Answer, Json, code, splice};

use super::context::Context;
use super::relayed::relayed;
use crate::fault;
use crate::quota::{Limits, OverQuota, QuotaPlace};
use crate::upstreams::{Full, Upstream};

/// A request of the caller.
pub(crate) struct Request {
    /// The caller's id.
    pub(crate) id: Json,
    pub(crate) method: Box<str>,
    pub(crate) params: Option<Json>,
    /// What the sender of a stateless request can do.
    pub(crate) capabilities: Option<Json>,
}

impl Request {
    /// Reads a request as it came from the caller. What a stateless one says of its sender is taken out: the
    /// link to a server says that in its own form.
    pub(crate) fn read(
        context: &Context,
        id: Json,
        method: Box<str>,
        params: Option<Json>,
    ) -> Self {
        let plain =
            |params| Self { id: id.clone(), method: method.clone(), params, capabilities: None };
        let Some(whole) = params.as_ref().filter(|_| context.caller.is_stateless) else {
            return plain(params);
        };
        let Some(meta) = whole.member("_meta").filter(splice::is_object) else {
            return plain(params);
        };
        let capabilities = meta.member(CAPABILITIES);
        let meta = meta.without(&[CAPABILITIES]);
        let params = if meta == Json::empty_object() {
            whole.without(&["_meta"])
        } else {
            splice::with_member(whole, "_meta", &meta)
        };
        Self { capabilities, ..plain(Some(params)) }
    }
}

/// Passes a request on to a server, if its principal may make another and the server has a place for it.
pub(crate) async fn pass(
    context: &Arc<Context>,
    upstream: &Arc<Upstream>,
    request: Request,
) -> Answer {
    match within_quota(context).await {
        Ok(_place) => send(context, upstream, request).await,
        Err(over) => fault::over_quota(over),
    }
}

/// Passes a request on to a server, which has a place for it or not. It counts for no quota.
pub(crate) async fn send(
    context: &Arc<Context>,
    upstream: &Arc<Upstream>,
    request: Request,
) -> Answer {
    let name = upstream.name();
    let _place = match upstream.bulkhead.enter().await {
        Ok(place) => place,
        Err(Full) => {
            return fault::full(name, upstream.settings.places, upstream.settings.queue);
        }
    };
    let link = match context.state.link(upstream, &context.asker()) {
        Ok(link) => link,
        Err(why) => return fault::no_link(name, &why),
    };
    let has_progress = wants_progress(request.params.as_ref());
    let waits = &*request.method == "tasks/result";
    let mut call = link.client.request(&*request.method, request.params);
    if let Some(time) = upstream.settings.timeout.or(waits.then_some(WORK)) {
        call = call.timeout(time);
    }
    if let Some(capabilities) = request.capabilities {
        // The caller handles rounds and tasks itself, and says what it can do.
        call = call.passing_input().capabilities(capabilities);
    }
    let (call, track) = call.tracked();
    let _known = link.know(track, context.number, request.id);
    let outcome = call.answer().await;
    if has_progress {
        link.settle().await;
    }
    let answer = outcome.unwrap_or_else(|error| fault::unanswered(name, &error));
    relayed(name, answer)
}

/// Returns the answer for a server that is not in the config any more.
pub(crate) fn gone(server: &str) -> Answer {
    Answer::refusal(code::INVALID_PARAMS, &format!("the server `{server}` is not here any more"))
}

/// Counts a call of the caller's principal, if there is a limit for it.
pub(crate) async fn within_quota(context: &Context) -> Result<Option<QuotaPlace>, OverQuota> {
    let rights = context.state.rights(&context.caller);
    let (calls_per_minute, in_flight) = (rights.calls_per_minute, rights.in_flight);
    let limits = Limits { calls_per_minute, in_flight };
    if limits == Limits::default() {
        return Ok(None);
    }
    context.state.quotas.begin(&context.caller.principal, limits).await.map(Some)
}

fn wants_progress(params: Option<&Json>) -> bool {
    let meta = params.and_then(|it| it.member("_meta"));
    meta.is_some_and(|it| it.member("progressToken").is_some())
}

/// `tasks/result` waits for the end of the work, for as long as a call of a tool may take.
const WORK: Duration = Duration::from_secs(600);
