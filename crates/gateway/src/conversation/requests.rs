//! What becomes of each request of a caller: a list of the catalogue, or a call that one server answers.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream::FuturesUnordered;
use ridethrough_server::call_digest;
use ridethrough_wire::message::{Answer, Json, ListKind, code};
use ridethrough_wire::stateless::can_ask;
use tokio::time::timeout;

use super::addressed::Addressed;
use super::context::Context;
use super::greeting::{self, Description};
use super::logging_in::{log_in, login_url, offer_login, refusal_of_list};
use super::passing::{Request, gone, pass};
use super::{rounds, tasks};
use crate::catalogue::{BadCursor, Route, Scope};
use crate::fault;
use crate::state::{GatewayState, PATIENCE};
use crate::upstreams::Upstream;

/// Answers a request.
pub(crate) async fn answer(context: Arc<Context>, request: Request) -> Answer {
    let method = &*request.method;
    if method == "initialize" {
        return greet(&context, request.params.as_ref()).await;
    }
    if let Some(kind) = ListKind::of_method(method) {
        return list(&context, kind, &request).await;
    }
    if tasks::is_about_one(method) {
        return tasks::about_one(&context, request).await;
    }
    if method == "tasks/list" {
        return tasks::list(&context, request.params.as_ref()).await;
    }
    let addressed = Addressed::read(method, request.params.as_ref());
    match (addressed, &context.scope) {
        (Some(addressed), _) => match resolve(&context, &addressed).await {
            Ok(route) => call(&context, request, &addressed, &route).await,
            Err(unread) => unresolved(&context, request, &addressed, &unread).await,
        },
        (None, _) if Addressed::is_needed(method) => {
            let why = "the params do not say whom it is for: a name or a URI is missing";
            Answer::refusal(code::INVALID_PARAMS, why)
        }
        // Where a server is alone, it gets what the gateway does not know.
        (None, Scope::One(server)) if context.view().rights.is_whole(server) => {
            match context.state.upstream(server) {
                Some(upstream) => pass(&context, &upstream, request).await,
                None => gone(server),
            }
        }
        (None, _) => Answer::refusal(
            code::METHOD_NOT_FOUND,
            &format!("`{method}` cannot be passed on: it does not say to which server"),
        ),
    }
}

/// Answers a request for what no list has. A completion goes to the only server that completes anything: a
/// template need not be listed.
async fn unresolved(
    context: &Arc<Context>,
    request: Request,
    addressed: &Addressed,
    unread: &[Arc<str>],
) -> Answer {
    if let Some(upstream) = waiting_for_login(context, addressed, unread)
        && let Some(Ok(login)) = upstream.login(&context.caller.principal)
    {
        if let Err(answer) = log_in(context, &upstream, &login, request.waiting()).await {
            return answer;
        }
        return match resolve(context, addressed).await {
            Ok(route) => call(context, request, addressed, &route).await,
            Err(unread) => fault::unknown(addressed.what(), addressed.text(), &unread),
        };
    }
    match addressed {
        Addressed::Uri(uri) if &*request.method == "completion/complete" => {
            match &*completing(context) {
                [only] => {
                    let route = Route { server: only.clone(), original: uri.clone() };
                    call(context, request, addressed, &route).await
                }
                able => fault::no_reference(uri, able, unread),
            }
        }
        Addressed::Uri(uri) if unread.is_empty() => fault::no_resource(uri),
        _ => fault::unknown(addressed.what(), addressed.text(), unread),
    }
}

/// Returns the server that could not be asked for want of a login, if a name begins as those of that server do.
fn waiting_for_login(
    context: &Context,
    addressed: &Addressed,
    unread: &[Arc<str>],
) -> Option<Arc<Upstream>> {
    let Addressed::Name(_, name) = addressed else { return None };
    let is_meant = |it: &Arc<Upstream>| {
        let prefix = it.settings.rules.wanted_name(it.name(), "");
        let is_waiting = it.needs_login(&context.caller.principal);
        is_waiting && !prefix.is_empty() && name.starts_with(&prefix)
    };
    unread.iter().filter_map(|name| context.state.upstream(name)).find(is_meant)
}

/// Returns the servers that complete arguments, or may for all that is known, and whose resources the caller
/// may use.
fn completing(context: &Context) -> Vec<Arc<str>> {
    let view = context.view();
    let completes = |it: &Arc<Upstream>| {
        let said = it.described(&view.principal);
        said.is_none_or(|it| it.can("completions")) && view.rights.reads_all(it.name())
    };
    let seen = context.state.seen(&view).into_iter();
    seen.filter(completes).map(|it| it.name().clone()).collect()
}

/// Greets a caller with what the servers said of themselves. Those that were never reached have a second.
async fn greet(context: &Arc<Context>, params: Option<&Json>) -> Answer {
    context.introduce(greeting::identity(params));
    let view = context.view();
    let (upstreams, asker) = (context.state.seen(&view), context.asker());
    let is_new =
        |it: &&Arc<Upstream>| it.described(&view.principal).is_none() && it.refused().is_none();
    // It goes on when the time is over.
    let reaching = upstreams.iter().filter(is_new);
    let reaching = reaching.map(|upstream| context.state.reach(upstream, &asker).done);
    let reaching: Vec<_> = reaching.collect();
    let is_alone = matches!(view.scope, Scope::One(_));
    // Whoever is late, or failed, has not described itself.
    let longest = if is_alone { PATIENCE_ALONE } else { PATIENCE };
    let _ = timeout(longest, join_all(reaching)).await;
    if let (true, [server]) = (is_alone, &*upstreams)
        && let Some(refused) = server.refused()
    {
        // Somebody must do something about it, and nothing else would say so.
        return fault::unreached(server.name(), &refused);
    }
    let revision = greeting::revision(params);
    let described = |it: &Arc<Upstream>| {
        let said = it.described(&view.principal);
        Description {
            tasks: said.as_ref().and_then(|it| tasks::for_caller(it, &context.caller, revision)),
            name: it.name().clone(),
            said: said.map(|server| server.as_initialized()),
        }
    };
    let described: Vec<_> = upstreams.iter().map(described).collect();
    let greeted = match (&context.scope, &*described) {
        (Scope::One(_), [server]) => greeting::alone(revision, server),
        _ => greeting::together(revision, &described),
    };
    let waiting = upstreams.iter().filter(|it| it.needs_login(&view.principal));
    // What many clients are told is kept for longer than a ticket lasts.
    let is_one = !context.caller.is_stateless;
    let url = |it: &Arc<Upstream>| is_one.then(|| login_url(context, it, None)).flatten();
    Answer::Result(greeting::with_logins(greeted, waiting.map(|it| (it.name(), url(it)))))
}

async fn list(context: &Arc<Context>, kind: ListKind, request: &Request) -> Answer {
    let (params, client) = (request.params.as_ref(), request.client.as_ref());
    let cursor = params.and_then(|it| it.member("cursor")).filter(|it| it.as_str() != "null");
    let cursor = cursor.map(|it| it.string().unwrap_or_default().into_owned());
    let (state, view) = (&context.state, context.view());
    let stale = match cursor {
        None => state.renew(kind, &view, &context.asker()).await,
        Some(_) => {
            let seen = state.seen(&view).into_iter();
            let stale = seen.filter(|it| GatewayState::is_stale(it, kind, &view));
            stale.map(|it| it.name().clone()).collect()
        }
    };
    // Rights may have changed while servers were asked.
    let view = context.view();
    let waiting = state.seen(&view).into_iter().filter(|it| it.needs_login(&view.principal));
    let waiting: Vec<_> = waiting.collect();
    // A client without a session can be asked only in answer to a call.
    let is_asked = |_: &&Arc<Upstream>| !context.caller.is_stateless;
    waiting.iter().filter(is_asked).for_each(|it| offer_login(context, it));
    if let (Scope::One(server), false) = (&view.scope, stale.is_empty())
        && !state.catalogue().knows(server, kind, &view)
    {
        if let Some(waiting) = waiting.first() {
            return refusal_of_list(context, waiting, client);
        }
        let why = state.upstream(server).and_then(|it| GatewayState::why_unread(&it, kind, &view));
        return fault::unread(server, kind.method(), why.as_deref());
    }
    let catalogue = state.catalogue();
    match catalogue.page(kind, cursor.as_deref(), &view, &stale) {
        Ok(page) => {
            context.show(kind, catalogue.fingerprint(kind, &view));
            Answer::Result(page)
        }
        Err(BadCursor) => fault::bad_cursor(),
    }
}

/// Finds the server of a name. If it is unknown, the lists are read first. Returns the servers whose lists could
/// not be read, if it is still unknown then.
async fn resolve(context: &Context, addressed: &Addressed) -> Result<Route, Vec<Arc<str>>> {
    if let Some(route) = look_up(context, addressed) {
        return Ok(route);
    }
    let kinds: &[ListKind] = match addressed {
        Addressed::Name(ListKind::Tools, _) => &[ListKind::Tools],
        Addressed::Name(..) => &[ListKind::Prompts],
        Addressed::Uri(_) => &[ListKind::Resources, ListKind::Templates],
    };
    let asker = context.asker();
    let pairs = context.state.seen(&context.view()).into_iter();
    let pairs = pairs.flat_map(|upstream| kinds.iter().map(move |kind| (upstream.clone(), *kind)));
    let reading = pairs.map(|(it, kind)| context.state.refresh(&it, kind, &asker).done);
    let mut reading: FuturesUnordered<_> = reading.collect();
    let looking = async {
        while reading.next().await.is_some() {
            if let Some(route) = look_up(context, addressed) {
                return Some(route);
            }
        }
        None
    };
    let found = timeout(FIRST_LOOK, looking).await.unwrap_or(None);
    found.or_else(|| look_up(context, addressed)).ok_or_else(|| unread(context, kinds))
}

fn look_up(context: &Context, addressed: &Addressed) -> Option<Route> {
    let view = context.view();
    let catalogue = context.state.catalogue();
    match addressed {
        Addressed::Name(kind, name) => catalogue.route(*kind, name, &view),
        Addressed::Uri(uri) => catalogue.route_uri(uri, &view),
    }
}

/// Returns the servers of which one of these lists is not what they would say now.
fn unread(context: &Context, kinds: &[ListKind]) -> Vec<Arc<str>> {
    let view = context.view();
    let all = context.state.seen(&view).into_iter();
    let unread =
        all.filter(|it| kinds.iter().any(|kind| GatewayState::is_unread(it, *kind, &view)));
    unread.map(|it| it.name().clone()).collect()
}

/// Makes a call under the server's own name for what is called.
async fn call(
    context: &Arc<Context>,
    mut request: Request,
    addressed: &Addressed,
    route: &Route,
) -> Answer {
    let Some(upstream) = context.state.upstream(&route.server) else { return gone(&route.server) };
    let params = request.params.take().unwrap_or_else(Json::empty_object);
    request.params = Some(addressed.rewritten(&request.method, &params, &route.original));
    match &*request.method {
        method if context.caller.is_stateless && can_ask(method) => {
            let digest = call_digest(method, Some(&params));
            rounds::call(context, &upstream, request, digest).await
        }
        _ if tasks::is_asked_for(&request) => tasks::begin(context, &upstream, request).await,
        "resources/subscribe" => subscribe(context, &upstream, request, &route.original).await,
        "resources/unsubscribe" => unsubscribe(context, &upstream, request, &route.original).await,
        _ => pass(context, &upstream, request).await,
    }
}

async fn subscribe(
    context: &Arc<Context>,
    upstream: &Arc<Upstream>,
    request: Request,
    uri: &str,
) -> Answer {
    let answer = pass(context, upstream, request).await;
    if matches!(answer, Answer::Result(_)) {
        upstream
            .links
            .used_by(context.number)
            .iter()
            .for_each(|it| it.subscribe(context.number, uri));
    }
    answer
}

async fn unsubscribe(
    context: &Arc<Context>,
    upstream: &Arc<Upstream>,
    request: Request,
    uri: &str,
) -> Answer {
    let links = upstream.links.used_by(context.number);
    let still_wanted: Vec<_> =
        links.iter().filter(|it| it.unsubscribe(context.number, uri)).collect();
    if !still_wanted.is_empty() {
        return Answer::Result(Json::empty_object());
    }
    pass(context, upstream, request).await
}

/// How long a greeting waits for a server that is alone: a person may be asked to log in.
const PATIENCE_ALONE: Duration = Duration::from_secs(5);
/// How long a call waits for lists that were never read.
const FIRST_LOOK: Duration = Duration::from_secs(10);
