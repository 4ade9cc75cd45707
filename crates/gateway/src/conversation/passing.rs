//! Passing a request on to a server: within what its principal may, over a link, in a place.

use std::sync::Arc;
use std::time::Duration;

use ridethrough::error::{CallError, Delivery, Kind};
use ridethrough_core::repeat_guard::is_look;
use ridethrough_core::{Doubt, DoubtForm, Facts, ReplayRule};
use ridethrough_server::Aside;
use ridethrough_wire::message::reserved::{CAPABILITIES, CLIENT_INFO};
use ridethrough_wire::message::{Answer, Json, ListKind, code, splice};
use tokio::time::{Instant, sleep};

use super::context::Context;
use super::logging_in::{WaitingCall, log_in};
use super::relayed::relayed;
use crate::fault;
use crate::logins::PrincipalLogin;
use crate::quota::{Limits, OverQuota, QuotaPlace};
use crate::upstreams::{Full, Upstream};

/// A request of the caller.
pub(crate) struct Request {
    /// What says things to the caller beside the answer; `None` of a request of the gateway's own.
    pub(crate) aside: Option<Aside>,
    pub(crate) method: Box<str>,
    pub(crate) params: Option<Json>,
    /// What the sender of a stateless request can do.
    pub(crate) capabilities: Option<Json>,
    /// What the client of a stateless request calls itself.
    pub(crate) client: Option<Json>,
}

impl Request {
    /// Reads a request as it came from the caller. What a stateless one says of its sender is taken out: the
    /// link to a server says that in its own form.
    pub(crate) fn read(
        context: &Context,
        aside: Option<Aside>,
        method: Box<str>,
        params: Option<Json>,
    ) -> Self {
        let plain = |params| {
            let (aside, method) = (aside.clone(), method.clone());
            Self { aside, method, params, capabilities: None, client: None }
        };
        let Some(whole) = params.as_ref().filter(|_| context.caller.is_stateless) else {
            return plain(params);
        };
        let Some(meta) = whole.member("_meta").filter(splice::is_object) else {
            return plain(params);
        };
        let [capabilities, client] = meta.pick([CAPABILITIES, CLIENT_INFO]);
        let client = client.filter(splice::is_object).map(|it| splice::copied(&it));
        let meta = meta.without(&[CAPABILITIES, CLIENT_INFO]);
        let params = if meta == Json::empty_object() {
            whole.without(&["_meta"])
        } else {
            splice::with_member(whole, "_meta", &meta)
        };
        Self { capabilities, client, ..plain(Some(params)) }
    }

    /// Returns the server's name of the tool that is called, if one is.
    fn tool(&self) -> Option<String> {
        let params = self.params.as_ref().filter(|_| &*self.method == "tools/call");
        params?.member("name")?.read()
    }

    /// Returns what a login must know of the call that waits for it.
    pub(crate) fn waiting(&self) -> WaitingCall<'_> {
        let (capabilities, client) = (self.capabilities.as_ref(), self.client.as_ref());
        WaitingCall { aside: self.aside.as_ref(), capabilities, client }
    }
}

/// Passes a request on to a server, if its principal may make another and the server has a place for it.
pub(crate) async fn pass(
    context: &Arc<Context>,
    upstream: &Arc<Upstream>,
    request: Request,
) -> Answer {
    try_to_pass(context, upstream, request).await.said(upstream)
}

/// Passes a request on as [`pass`] does, and returns how that ended.
pub(crate) async fn try_to_pass(
    context: &Arc<Context>,
    upstream: &Arc<Upstream>,
    request: Request,
) -> Attempt {
    if let Some(doubt) = held_repeat(context, upstream, &request) {
        return Attempt::Refused(doubt);
    }
    match within_quota(context).await {
        Ok(_place) => try_to_send(context, upstream, request).await,
        Err(over) => Attempt::Refused(fault::over_quota(over)),
    }
}

/// Returns the answer to a call that is not sent, because it repeats one that may have run.
fn held_repeat(context: &Context, upstream: &Upstream, request: &Request) -> Option<Answer> {
    if &*request.method != "tools/call" {
        return None;
    }
    let origin = || context.origin(upstream.name(), request.client.as_ref());
    let doubt = context.state.repeats.held(request.params.as_ref(), origin)?;
    context.state.tell_held(upstream);
    Some(doubt.answer_to_repeat(context.state.doubt))
}

/// Records what the end of a call means for repeats of it, or of another.
fn note_end(
    context: &Context,
    server: &str,
    request: &Request,
    began: Instant,
    outcome: &Result<Answer, CallError>,
) {
    let repeats = &context.state.repeats;
    let origin = || context.origin(server, request.client.as_ref());
    let params = request.params.as_ref();
    match outcome {
        Ok(answer) if !repeats.is_empty() && is_look(&request.method, answer) => {
            repeats.looked(began, &origin());
        }
        // What is told as a result is what a repeat of may do harm.
        Err(error) if error.may_have_run() && told_as_result(error, params) => {
            let doubt = Doubt::of(&Facts::of(error).at(server));
            repeats.told(&origin(), params, began, doubt);
        }
        _ => {}
    }
}

fn told_as_result(error: &CallError, params: Option<&Json>) -> bool {
    DoubtForm::Result.of_call(error, params) == DoubtForm::Result
}

/// Passes a request on to a server, which has a place for it or not. It counts for no quota. Where each principal
/// has a login of its own, it waits for that if there is none.
pub(crate) async fn send(
    context: &Arc<Context>,
    upstream: &Arc<Upstream>,
    request: Request,
) -> Answer {
    try_to_send(context, upstream, request).await.said(upstream)
}

async fn try_to_send(
    context: &Arc<Context>,
    upstream: &Arc<Upstream>,
    request: Request,
) -> Attempt {
    let login = match upstream.login(&context.caller.principal) {
        None => return attempt(context, upstream, &request).await,
        Some(Err(why)) => return Attempt::Refused(fault::no_link(upstream.name(), &why)),
        Some(Ok(login)) => login,
    };
    if is_login_missing(&login).await
        && let Err(answer) = log_in(context, upstream, &login, request.waiting()).await
    {
        return Attempt::Refused(answer);
    }
    let tried = attempt(context, upstream, &request).await;
    if !tried.wants_login(&login) {
        return tried;
    }
    match log_in(context, upstream, &login, request.waiting()).await {
        Ok(()) => attempt(context, upstream, &request).await,
        Err(answer) => Attempt::Refused(answer),
    }
}

/// Whether it is known that the server would refuse the call for want of a login. A refusal that may be a fault of
/// the server is looked at again.
async fn is_login_missing(login: &PrincipalLogin) -> bool {
    let is_lasting = || login.needed().is_some_and(|reason| !reason.may_pass());
    if !is_lasting() {
        return false;
    }
    // Somebody may have logged in by another program.
    login.account.look_at_store().await;
    is_lasting()
}

/// How an attempt to make a call ended.
pub(crate) enum Attempt {
    Answered(Answer),
    /// Without an answer of the server. If it may have run, that is told in this form.
    Failed(CallError, DoubtForm),
    /// Before it began.
    Refused(Answer),
}

impl Attempt {
    /// Whether the server did not run the call, because a person must log in first.
    fn wants_login(&self, login: &PrincipalLogin) -> bool {
        matches!(self, Self::Failed(error, _) if error.kind == Kind::Unauthorized
            && error.delivery != Delivery::Unknown
            && login.needed().is_some())
    }

    /// Whether it is certain that the server did not run the call. What the server itself says is no proof.
    pub(crate) fn has_not_run(&self) -> bool {
        match self {
            Self::Answered(_) => false,
            Self::Failed(error, _) => !error.may_have_run(),
            Self::Refused(_) => true,
        }
    }

    /// Returns what the caller is told.
    pub(crate) fn said(self, upstream: &Upstream) -> Answer {
        let name = upstream.name();
        match self {
            Self::Answered(answer) => relayed(name, answer),
            Self::Failed(error, form) => relayed(name, fault::unanswered(name, &error, form)),
            Self::Refused(answer) => answer,
        }
    }
}

async fn attempt(context: &Arc<Context>, upstream: &Arc<Upstream>, request: &Request) -> Attempt {
    let (name, settings) = (upstream.name(), &upstream.settings);
    let place = match upstream.bulkhead.enter().await {
        Ok(place) => Arc::new(place),
        Err(Full) => return Attempt::Refused(fault::full(name, settings.places, settings.queue)),
    };
    let link = match context.state.link(upstream, &context.asker()) {
        Ok(link) => link,
        Err(why) => return Attempt::Refused(fault::no_link(name, &why)),
    };
    let has_progress = wants_progress(request.params.as_ref());
    let waits = &*request.method == "tasks/result";
    let mut call = link.client.request(&*request.method, request.params.clone());
    if let Some(time) = settings.timeout.or(waits.then_some(WORK)) {
        call = call.timeout(time);
    }
    if let Some(capabilities) = request.capabilities.clone() {
        // The caller handles rounds and tasks itself, and says what it can do.
        call = call.passing_input().capabilities(capabilities);
    }
    if let Some(tool) = request.tool() {
        call = match upstream.replay_rule(&context.caller.principal, &tool) {
            ReplayRule::ByNature => call,
            ReplayRule::Once => call.once(),
            ReplayRule::Repeatable => call.idempotent(),
        };
        learn_hints(context, upstream);
    }
    let (call, track) = call.tracked();
    let _known = link.know(track, context.number, request.aside.clone(), place);
    let began = Instant::now();
    let outcome = call.answer().await;
    note_end(context, name, request, began, &outcome);
    if has_progress {
        link.settle().await;
    }
    if let Ok(Answer::Error(error)) = &outcome {
        pages_of(error).iter().for_each(|page| link.follow_page(context.number, page));
    }
    let form = |error: &_| context.state.doubt.of_call(error, request.params.as_ref());
    outcome.map_or_else(
        |error| {
            let form = form(&error);
            Attempt::Failed(error, form)
        },
        Attempt::Answered,
    )
}

/// Has the list of tools read if nobody has, a moment later: whether a call can be repeated is asked when it breaks.
fn learn_hints(context: &Arc<Context>, upstream: &Arc<Upstream>) {
    if !upstream.wants_hints(&context.caller.principal) {
        return;
    }
    let (context, upstream) = (context.clone(), upstream.clone());
    tokio::spawn(async move {
        sleep(QUIET).await;
        context.state.refresh(&upstream, ListKind::Tools, &context.asker());
    });
}

/// Returns the pages that a person must see before a call can be made, by their ids.
fn pages_of(error: &Json) -> Vec<String> {
    let pages = error.member("data").and_then(|it| it.member("elicitations")?.elements());
    let id = |page: &Json| page.member("elicitationId")?.read();
    pages.unwrap_or_default().iter().filter_map(id).collect()
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

/// The call comes first.
const QUIET: Duration = Duration::from_secs(1);
/// `tasks/result` waits for the end of the work, for as long as a call of a tool may take.
const WORK: Duration = Duration::from_secs(600);
