//! Asking a server of 2025-11-25 for a task, which is done only if it declares tasks and the tool supports them.
//! A stateless server decides by itself, so a call goes out to it unchanged.

use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, select};
use ridethrough_core::{CallError, Delivery, Era, Kind, Reason, Rule, Status};
use ridethrough_wire::message::Json;

use super::super::{Call, Client, Params, result};
use super::plan::Plan;
use crate::error::Error;
use crate::model::{self, TaskState, TaskSupport, Tool};

/// Makes a task of a call that was refused because it asked for none. `None` if it was refused for another
/// reason.
pub(super) async fn make_required(plan: &Plan) -> Result<Option<TaskState>, Error> {
    // If the reason cannot be found out, the server's refusal stands.
    let support = support_in_time(plan).await.unwrap_or_default();
    let Some(params) = plan.params.as_ref().filter(|_| support == TaskSupport::Required) else {
        return Ok(None);
    };
    let params = Params::from(ask_for_task(params, None));
    let call = Call::new(plan.client.clone(), plan.call.method.clone(), params, |result: Json| {
        let missing = || serde::de::Error::missing_field("task");
        model::read(result.member("task").ok_or_else(missing)?)
    });
    let call = call.with_headers(plan.headers.clone());
    match plan.time.left() {
        Some(left) => call.timeout(left).await,
        None => call.await,
    }
    .map(Some)
}

/// Finds out whether to ask for a task, within the call's time.
pub(super) async fn support_in_time(plan: &Plan) -> Result<TaskSupport, Error> {
    let asking = legacy_support(&plan.client, plan.call.tool.as_deref());
    let Some(over) = plan.over() else { return asking.await };
    match select(pin!(asking), pin!(over)).await {
        Either::Left((support, _)) => support,
        Either::Right(((), _)) => {
            let reason = Reason::Rule(Rule::TasksUnknown);
            let (kind, call) = (Kind::DeadlinePassed, plan.call.clone());
            let mut error = CallError::new(kind, Delivery::NotSent, call, reason);
            error.elapsed = plan.time.began.elapsed();
            Err(error.into())
        }
    }
}

/// Whether the server wants to be asked for a task, and the tool supports it. A stateless server decides by
/// itself.
async fn legacy_support(client: &Client, tool: Option<&str>) -> Result<TaskSupport, Error> {
    let era = |status: Option<Status>| status.map(|it| (it.era, it.version.is_some()));
    if era(client.status().await) == Some((Era::Modern, true)) {
        return Ok(TaskSupport::Forbidden);
    }
    // This makes a session if none is in force, and the era is known with it.
    let server = result(client.handshake(None).await)?;
    let has_tasks = ["capabilities", "tasks", "requests", "tools", "call"]
        .iter()
        .try_fold(server, |json, name| json.member(name))
        .is_some();
    let is_legacy = era(client.status().await).is_some_and(|(era, _)| era == Era::Legacy);
    let Some(tool) = tool.filter(|_| is_legacy && has_tasks) else {
        return Ok(TaskSupport::Forbidden);
    };
    let tools: Vec<Tool> = client.tools().await?;
    // A tool that is not listed declares no support.
    let named = tools.iter().find(|it| it.name == tool);
    Ok(named.map_or(TaskSupport::Forbidden, |it| it.task_support))
}

/// Returns the params with a request for a task. A request that is already there stays.
pub(super) fn ask_for_task(params: &Json, kept_for: Option<Duration>) -> Json {
    if params.member("task").is_some() {
        return params.clone();
    }
    let millis = kept_for.map(|time| time.as_millis().to_string());
    let ttl = millis.and_then(|millis| Json::new(millis).ok()).map(|ttl| ("ttl".to_owned(), ttl));
    let task = Json::empty_object().with_members(ttl);
    params.with_members([("task".to_owned(), task)])
}
