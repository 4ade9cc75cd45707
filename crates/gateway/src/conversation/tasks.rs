//! Tasks of servers, under ids that say where each belongs.
//!
//! An id that a server gives to a task is replaced by one of ours wherever a caller sees it, and back. Ours is
//! bound to the principal and to the era of the caller: to anybody else the task does not exist.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use ridethrough::Era;
use ridethrough::model::TaskState;
use ridethrough::server::Server;
use ridethrough_core::Version;
use ridethrough_server::Caller;
use ridethrough_wire::message::splice::{copied, text, with_member};
use ridethrough_wire::message::{Answer, Json, code, reserved, splice};
use tokio::time::timeout;

use super::context::Context;
use super::passing::{Request, pass, send, within_quota};
use crate::fault;
use crate::sealed::TaskRoute;
use crate::tasks::KeptTask;
use crate::upstreams::Upstream;

/// What a server's tasks can do for a caller of one era.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskSupport {
    /// The extension of the stateless revision.
    Extension,
    /// Those of 2025-11-25.
    Requested {
        /// Whether they can be cancelled.
        can_cancel: bool,
    },
}

impl TaskSupport {
    /// Returns what a server's tasks can do for a caller of its own era; `None` if it has none.
    pub(crate) fn of(server: &Server) -> Option<Self> {
        let can = server.result.member("capabilities")?;
        match server.version.era() {
            Era::Modern => are_declared(Some(&can)).then_some(Self::Extension),
            Era::Legacy => {
                let tasks = can.member("tasks")?;
                tasks.member("requests")?.member("tools")?.member("call")?;
                Some(Self::Requested { can_cancel: tasks.member("cancel").is_some() })
            }
        }
    }
}

/// Returns what a server's tasks can do for this caller, who speaks this revision if it has a session. Tasks of
/// one era are not translated into those of the other.
pub(crate) fn for_caller(server: &Server, caller: &Caller, revision: &str) -> Option<TaskSupport> {
    TaskSupport::of(server).filter(|it| match it {
        TaskSupport::Extension => caller.is_stateless,
        TaskSupport::Requested { .. } => {
            !caller.is_stateless && revision == Version::V2025_11_25.as_str()
        }
    })
}

/// Whether these capabilities name the tasks extension.
pub(crate) fn are_declared(capabilities: Option<&Json>) -> bool {
    let extensions = capabilities.and_then(|it| it.member("extensions"));
    extensions.is_some_and(|it| it.member(EXTENSION).is_some())
}

/// Whether a request of this method is about one task.
pub(crate) fn is_about_one(method: &str) -> bool {
    matches!(method, "tasks/cancel" | "tasks/get" | "tasks/result" | "tasks/update")
}

/// Whether a call of a tool asks for a task, as in 2025-11-25.
pub(crate) fn is_asked_for(request: &Request) -> bool {
    let params = request.params.as_ref().filter(|_| &*request.method == "tools/call");
    params.is_some_and(|it| it.member("task").is_some())
}

/// Makes a call that asks for a task.
pub(crate) async fn begin(
    context: &Arc<Context>,
    upstream: &Arc<Upstream>,
    request: Request,
) -> Answer {
    let known = upstream.described(&context.caller.principal);
    let has_none =
        |it: &Server| !matches!(TaskSupport::of(it), Some(TaskSupport::Requested { .. }));
    if known.as_ref().is_some_and(has_none) {
        // It would run, and its result would not be what the caller waits for.
        return fault::no_tasks(upstream.name());
    }
    let answer = pass(context, upstream, request).await;
    shown(context, upstream, answer).await
}

/// Answers a request about one task.
pub(crate) async fn about_one(context: &Arc<Context>, mut request: Request) -> Answer {
    let params = request.params.take().unwrap_or_else(Json::empty_object);
    let id: Option<String> = params.member("taskId").and_then(|it| it.read());
    let Some((route, upstream)) = id.and_then(|id| found(context, &id)) else {
        return fault::no_task();
    };
    request.params = Some(with_member(&params, "taskId", &text(&route.id)));
    let method = request.method.clone();
    let answer = pass(context, &upstream, request).await;
    match (&*method, &answer) {
        // It is what the tool answered, and not what the server says of the task.
        ("tasks/result", Answer::Result(result)) => {
            Answer::Result(with_related_id(context, upstream.name(), result))
        }
        ("tasks/get", Answer::Error(_)) if is_unknown(&answer) => {
            let (tasks, principal) = (&context.state.tasks, &context.caller.principal);
            tasks.forget(principal, &route.server, &route.id).await;
            answer
        }
        _ => shown(context, &upstream, answer).await,
    }
}

/// Returns the tasks that this principal has begun, a page of them, each as its server describes it now. What
/// was last known stands in for a server that does not answer within a second.
pub(crate) async fn list(context: &Arc<Context>, params: Option<&Json>) -> Answer {
    let _place = match within_quota(context).await {
        Ok(place) => place,
        Err(over) => return fault::over_quota(over),
    };
    let cursor: Option<String> = params.and_then(|it| it.member("cursor")?.read());
    let view = context.view();
    let mut all = context.state.tasks.of(&context.caller.principal).await;
    all.retain(|it| view.sees(&it.server));
    if let Some(cursor) = cursor {
        let last = context.state.sealer.task(&context.caller, &cursor);
        let is_last = |it: &KeptTask| {
            last.as_ref().is_some_and(|last| last.server == it.server && last.id == it.id)
        };
        let Some(place) = all.iter().position(is_last) else { return fault::bad_cursor() };
        drop(all.drain(..=place));
    }
    let has_more = all.len() > PAGE;
    all.truncate(PAGE);
    let next = all.last().filter(|_| has_more).map(|it| {
        let id = context.state.sealer.task_id(&context.caller, &it.server, &it.id);
        ("nextCursor".to_owned(), text(&id))
    });
    let now = join_all(all.into_iter().map(|task| described_now(context, task))).await;
    let now: Vec<_> = now.into_iter().flatten().collect();
    let tasks = [("tasks".to_owned(), splice::array(&now))];
    Answer::Result(Json::empty_object().with_members(tasks.into_iter().chain(next)))
}

/// Returns a task as its server describes it now; `None` if it is gone.
async fn described_now(context: &Arc<Context>, task: KeptTask) -> Option<Json> {
    let upstream = context.state.upstream(&task.server)?;
    let params = Json::empty_object().with_members([("taskId".to_owned(), text(&task.id))]);
    let request = Request {
        // No progress and no question belongs to it.
        aside: None,
        method: "tasks/get".into(),
        params: Some(params),
        capabilities: None,
        client: None,
    };
    let asked = timeout(PATIENCE, send(context, &upstream, request)).await;
    match asked {
        Ok(Answer::Result(now)) => {
            keep(context, &upstream, &now).await;
            Some(with_our_id(context, upstream.name(), &now.without(&["_meta"])))
        }
        Ok(gone) if is_unknown(&gone) => {
            let (tasks, principal) = (&context.state.tasks, &context.caller.principal);
            tasks.forget(principal, &task.server, &task.id).await;
            None
        }
        Ok(Answer::Error(_)) | Err(_) => {
            let yes = Json::of(&true).expect("a bool is JSON");
            let meta = Json::empty_object().with_members([(reserved::LAST_KNOWN.to_owned(), yes)]);
            let last = with_our_id(context, upstream.name(), &task.last);
            Some(with_member(&last, "_meta", &meta))
        }
    }
}

/// Returns an answer with our ids in place of the server's. The task is kept in the record, and its caller
/// hears of it.
pub(crate) async fn shown(
    context: &Arc<Context>,
    upstream: &Arc<Upstream>,
    answer: Answer,
) -> Answer {
    let Answer::Result(result) = &answer else { return answer };
    let task = result.member("task").filter(|it| it.member("taskId").is_some());
    keep(context, upstream, task.as_ref().unwrap_or(result)).await;
    Answer::Result(with_our_id(context, upstream.name(), result))
}

/// Keeps a task for the list of its principal, and lets the conversation hear of it.
async fn keep(context: &Arc<Context>, upstream: &Arc<Upstream>, task: &Json) {
    let Some(TaskState { id, kept_for, .. }) = task.read() else { return };
    let id = id.as_str().to_owned();
    upstream
        .links
        .used_by(context.number)
        .iter()
        .for_each(|it| it.follow_task(context.number, &id));
    if context.caller.is_stateless {
        // This revision has no list.
        return;
    }
    let last = copied(&task.without(&["_meta"]));
    let task = KeptTask { server: upstream.name().clone(), id, last, kept_for };
    context.state.tasks.keep(&context.caller.principal, task).await;
}

/// Returns what a server says of a task, with our id in place of its own.
fn with_our_id(context: &Context, server: &str, said: &Json) -> Json {
    let ours = |id: &str| Some(context.state.sealer.task_id(&context.caller, server, id));
    let said = with_id(said, &ours).unwrap_or_else(|| said.clone());
    let task = said.member("task").and_then(|task| with_id(&task, &ours));
    let said = task.map_or_else(|| said.clone(), |task| with_member(&said, "task", &task));
    with_related_id(context, server, &said)
}

/// Returns a result, or the params of a message, in which the task that it belongs to has our id.
fn with_related_id(context: &Context, server: &str, json: &Json) -> Json {
    let ours = |id: &str| Some(context.state.sealer.task_id(&context.caller, server, id));
    with_related(json, &ours).unwrap_or_else(|| json.clone())
}

/// Returns the params of a server's message as the caller may see them: those that name a task name it by our
/// id.
pub(crate) fn as_seen(context: &Context, server: &str, method: &str, params: Json) -> Json {
    if method == STATUS {
        return with_our_id(context, server, &params);
    }
    if is_likely_related(&params) { with_related_id(context, server, &params) } else { params }
}

/// Returns a caller's answer to a question as the server may see it: the task that it names has the server's
/// id.
pub(crate) fn as_answered(context: &Context, answer: Answer) -> Answer {
    let Answer::Result(result) = &answer else { return answer };
    if !is_likely_related(result) {
        return answer;
    }
    let theirs = |id: &str| context.state.sealer.task(&context.caller, id).map(|it| it.id);
    with_related(result, &theirs).map_or(answer, Answer::Result)
}

/// Returns where an id leads, if it is of this caller and the caller may still use the server.
fn found(context: &Context, id: &str) -> Option<(TaskRoute, Arc<Upstream>)> {
    let route = context.state.sealer.task(&context.caller, id)?;
    let upstream = context.state.upstream(&route.server)?;
    context.view().sees(&route.server).then_some((route, upstream))
}

/// Returns the object with another `taskId`, if it has one.
fn with_id(object: &Json, other: &impl Fn(&str) -> Option<String>) -> Option<Json> {
    let id: String = object.member("taskId")?.read()?;
    Some(with_member(object, "taskId", &text(&other(&id)?)))
}

/// Returns the object with another id of the task that it says it belongs to, if it says so.
fn with_related(object: &Json, other: &impl Fn(&str) -> Option<String>) -> Option<Json> {
    let meta = object.member("_meta")?;
    let related = with_id(&meta.member(RELATED)?, other)?;
    Some(with_member(object, "_meta", &with_member(&meta, RELATED, &related)))
}

/// A search in the bytes is enough for most messages.
fn is_likely_related(json: &Json) -> bool {
    json.as_str().contains("related-task")
}

fn is_unknown(answer: &Answer) -> bool {
    answer.error().is_some_and(|error| error.code == code::INVALID_PARAMS)
}

/// The extension of the stateless revision.
pub(crate) const EXTENSION: &str = "io.modelcontextprotocol/tasks";
const RELATED: &str = "io.modelcontextprotocol/related-task";
/// The notification of a task that has changed.
const STATUS: &str = "notifications/tasks/status";
/// How many tasks are on a page. Each is asked for.
const PAGE: usize = 20;
const PATIENCE: Duration = Duration::from_secs(1);
