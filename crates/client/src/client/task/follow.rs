//! Following a task: asking for it until it has ended.
//!
//! ```text
//!   rest ──due──▶ look ──it goes on──▶ rest          look ──ended──▶ its result or error
//!    │ a handler answered ──▶ tasks/update            look ──no answer──▶ rest, for longer
//!    └ out of time ──▶ the end
//! ```
//! A failed `tasks/get` says nothing about the task, which runs at the server, so the server is asked again.
//! Following ends only when the server says that the task has ended, or when time is up.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use ridethrough_core::{CallError, Delivery, Kind, Reason, Rule};
use ridethrough_wire::message::code;
use ridethrough_wire::message::{Answer, Json};
use serde::Serialize;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::super::{Call, ReadResult};
use super::inputs::{Inputs, Unanswerable};
use super::plan::{Plan, Unwanted};
use super::time::Pace;
use super::{Born, Named, Update};
use crate::driver::DriverCommand;
use crate::error::{Error, ServerError, TaskEnd, TaskError};
use crate::model::{self, TaskId, TaskState, TaskStatus};

pub(super) struct Follower {
    plan: Plan,
    id: TaskId,
    unwanted: Option<Unwanted>,
    inputs: Inputs,
    pace: Pace,
    /// Ends when the link is closed.
    open: Option<oneshot::Receiver<()>>,
    /// When the task was first heard of: the server keeps it from that moment or an earlier one.
    first_heard: Option<Instant>,
    /// When the first of the latest unanswered questions was sent, if the last one has no answer.
    silent_since: Option<Instant>,
    /// When the first unanswered question for the result of an ended task was sent.
    unfetched_since: Option<Instant>,
    last: Option<TaskState>,
    /// How many questions were sent.
    looks: u32,
    /// Why the last question has no answer.
    trouble: Option<Error>,
    /// The server's error for our inputs, if it refused them.
    refused: Option<Error>,
}

/// What a look at a task has shown.
enum TaskSight {
    GoesOn { look_again_in: Duration },
    Ended(Json),
}

impl Follower {
    pub(super) fn new(plan: Plan, id: TaskId, unwanted: Option<Unwanted>) -> Self {
        let (closed, open) = oneshot::channel();
        plan.client.command(DriverCommand::Follow(closed));
        Self {
            plan,
            unwanted,
            inputs: Inputs::default(),
            pace: Pace::new(RandomState::new().hash_one(&id)),
            id,
            open: Some(open),
            first_heard: None,
            silent_since: None,
            unfetched_since: None,
            last: None,
            looks: 0,
            trouble: None,
            refused: None,
        }
    }

    pub(super) async fn run(mut self, born: Option<Born>) -> Result<Json, Error> {
        let mut wait = Duration::ZERO;
        if let Some(Born { state, at }) = born {
            self.first_heard = Some(at);
            self.pace.heard(state.poll_interval);
            let is_over = state.status.is_final();
            let due = at + if is_over { Duration::ZERO } else { self.pace.next() };
            wait = due.saturating_duration_since(Instant::now());
            self.last = Some(state);
        }
        loop {
            self.rest(wait).await?;
            match self.look().await? {
                TaskSight::Ended(result) => return Ok(result),
                TaskSight::GoesOn { look_again_in } => wait = look_again_in,
            }
        }
    }

    /// Waits, and sends what handlers answer meanwhile.
    async fn rest(&mut self, wait: Duration) -> Result<(), Error> {
        let due = Instant::now() + wait;
        loop {
            let until = self.plan.time.until;
            let wake = until.map_or(due, |until| until.min(due));
            tokio::select! {
                biased;
                (key, answer) = self.inputs.next() => self.given(&key, answer).await?,
                // The next question finds the link closed, and reports that.
                () = closed(&mut self.open) => return Ok(()),
                () = tokio::time::sleep_until(wake) => {
                    return match until {
                        Some(until) if until <= Instant::now() => Err(self.out_of_time()),
                        _ => Ok(()),
                    };
                }
            }
        }
    }

    async fn look(&mut self) -> Result<TaskSight, Error> {
        let asked_at = Instant::now();
        let time = self.plan.time.left().map(|left| left.min(LOOK_TIME));
        let named = Named { task_id: &self.id };
        let asked = self.ask("tasks/get", &named, time, model::read::<TaskState>).await;
        self.looks += 1;
        let state = match asked {
            Ok(state) => state,
            Err(error) => {
                let since = *self.silent_since.get_or_insert(asked_at);
                return self.no_answer(error, Some(since));
            }
        };
        self.take_in(&state);
        match state.status {
            TaskStatus::Cancelled => Err(self.lost(TaskEnd::Cancelled, state.message)),
            TaskStatus::Completed | TaskStatus::Failed => self.take_end(state).await,
            TaskStatus::InputRequired if self.is_asked_elsewhere(&state) => self.fetch().await,
            _ => self.go_on(&state).await,
        }
    }

    /// Notes an answer of the server about the task.
    fn take_in(&mut self, state: &TaskState) {
        self.silent_since = None;
        self.first_heard.get_or_insert_with(Instant::now);
        self.trouble = None;
        self.pace.heard(state.poll_interval);
        let news = |it: &TaskState| (it.status, it.message.clone(), it.last_updated_at.clone());
        if self.last.as_ref().is_some_and(|last| news(last) != news(state)) {
            self.plan.time.extend();
        }
        self.last = Some(state.clone());
        if state.status.is_final() {
            self.is_over();
        }
    }

    /// Notes that nothing is left to cancel.
    fn is_over(&mut self) {
        if let Some(unwanted) = &mut self.unwanted {
            unwanted.disarm();
        }
    }

    async fn take_end(&mut self, state: TaskState) -> Result<TaskSight, Error> {
        if let Some(result) = state.json.member("result") {
            return Ok(TaskSight::Ended(result));
        }
        if let Some(json) = state.json.member("error") {
            let rpc = Answer::Error(json.clone()).error().unwrap_or_default();
            return Err(Error::Server(ServerError { rpc, json }));
        }
        match state.status {
            _ if state.is_legacy() => self.fetch().await,
            TaskStatus::Failed => Err(self.lost(TaskEnd::Failed, state.message)),
            _ => {
                let missing: serde_json::Error = serde::de::Error::missing_field("result");
                let (method, result) = ("tasks/get".into(), state.json);
                Err(Error::Answer { method, result, source: missing.into() })
            }
        }
    }

    /// Whether the server asks for input by requests of its own, as one of 2025-11-25 does while it is asked
    /// for the result.
    fn is_asked_elsewhere(&self, state: &TaskState) -> bool {
        state.is_legacy() && state.json.member("inputRequests").is_none()
    }

    /// Requests the result itself, which the server holds back until there is one.
    ///
    /// How long the answer takes says nothing about a task that goes on; the next look does.
    async fn fetch(&mut self) -> Result<TaskSight, Error> {
        let asked_at = Instant::now();
        let time = self.plan.time.left().unwrap_or(self.plan.time.silence);
        let named = Named { task_id: &self.id };
        let status = self.last.as_ref().map(|last| last.status);
        let has_ended = status.is_some_and(TaskStatus::is_final);
        match self.ask("tasks/result", &named, Some(time), Ok).await {
            Ok(result) => {
                self.is_over();
                Ok(TaskSight::Ended(result))
            }
            // This error is what the call would have been answered with.
            Err(error @ Error::Server(_)) if status == Some(TaskStatus::Failed) => {
                self.is_over();
                Err(error)
            }
            // The task may have just failed with this error, or the server has forgotten it.
            Err(error) if !has_ended && is_invalid_params(&error) => {
                let look_again_in = self.pace.after_failure(None);
                self.trouble = Some(error);
                Ok(TaskSight::GoesOn { look_again_in })
            }
            Err(error) => {
                let since = has_ended.then(|| *self.unfetched_since.get_or_insert(asked_at));
                self.no_answer(error, since)
            }
        }
    }

    async fn go_on(&mut self, state: &TaskState) -> Result<TaskSight, Error> {
        if let Some(refused) = self.refused.take() {
            return Err(refused);
        }
        let age = self.first_heard.map(|first| first.elapsed()).unwrap_or_default();
        if state.kept_for.is_some_and(|time| age >= time) {
            return Err(self.lost(TaskEnd::Expired, state.message.clone()));
        }
        let taken = self.inputs.take(&self.plan.client, state).await;
        taken.map_err(|unanswerable| self.unanswerable(unanswerable))?;
        self.send_inputs().await;
        Ok(TaskSight::GoesOn { look_again_in: self.pace.next() })
    }

    async fn given(&mut self, key: &str, answer: Answer) -> Result<(), Error> {
        let kept = self.inputs.keep(key, answer);
        kept.map_err(|unanswerable| self.unanswerable(unanswerable))?;
        self.send_inputs().await;
        Ok(())
    }

    /// Sends the inputs once they are complete. If they do not arrive, they are sent again after the next
    /// look.
    async fn send_inputs(&mut self) {
        let Some(responses) = self.inputs.complete() else { return };
        let update = Update { task_id: &self.id, input_responses: &responses };
        let time = self.plan.time.left().map(|left| left.min(LOOK_TIME));
        match self.ask("tasks/update", &update, time, Ok).await {
            Ok(_) => self.inputs.sent(),
            Err(error) if self.may_pass(&error) => self.trouble = Some(error),
            // The task may have ended meanwhile, and then this does not matter.
            Err(error) => {
                self.inputs.sent();
                self.refused = Some(error);
            }
        }
    }

    async fn ask<T>(
        &self,
        method: &'static str,
        params: &impl Serialize,
        time: Option<Duration>,
        read: ReadResult<T>,
    ) -> Result<T, Error> {
        let call: Call<T> = self.plan.client.ask_task(method, params, read);
        let call = call.with_headers(self.plan.headers.clone());
        match time {
            Some(time) => call.timeout(time).await,
            None => call.await,
        }
    }

    /// Handles a question without an answer: it is repeated, unless that cannot help or answers have been
    /// missing for too long.
    fn no_answer(&mut self, error: Error, since: Option<Instant>) -> Result<TaskSight, Error> {
        if let Some(error) = error.server().filter(|_| is_invalid_params(&error)) {
            let words = error.rpc.message.clone();
            self.is_over();
            return Err(self.lost(TaskEnd::Unknown, Some(words)));
        }
        let is_long = |since: Instant| since.elapsed() >= self.plan.time.silence;
        let is_silent_for_long = self.plan.time.until.is_none() && since.is_some_and(is_long);
        if is_silent_for_long || !self.may_pass(&error) {
            return Err(error);
        }
        let look_again_in = self.pace.after_failure(error.retry_after());
        self.trouble = Some(error);
        Ok(TaskSight::GoesOn { look_again_in })
    }

    /// Whether the next question may be answered though this one was not.
    fn may_pass(&self, error: &Error) -> bool {
        let kind = match error {
            Error::Call(error) => error.kind,
            // -32600, -32601 and -32602 say that the question is wrong, and the codes of the stateless
            // revision that the client is.
            Error::Server(error) => {
                return !matches!(error.rpc.code, -32602..=-32600)
                    && !code::is_modern(error.rpc.code);
            }
            _ => return false,
        };
        match kind {
            Kind::BreakerOpen
            | Kind::DeadlinePassed
            | Kind::Exhausted
            | Kind::Interrupted
            | Kind::PeerMisbehaved
            | Kind::SessionLost
            | Kind::Unreachable => true,
            // A proxy may have lost its routes for a moment; if the server was never heard, the address is
            // wrong.
            Kind::Rejected { status: 404 } => self.first_heard.is_some(),
            Kind::Rejected { status } => matches!(status, 408 | 409 | 425 | 429 | 500..=599),
            _ => false,
        }
    }

    fn lost(&self, end: TaskEnd, message: Option<String>) -> Error {
        TaskError::new(self.id.clone(), end, message).into()
    }

    fn unanswerable(&self, why: Unanswerable) -> Error {
        match why {
            Unanswerable::Refused(words) => {
                let words = format!("input that the task asked for was not given: {words}");
                self.error(Kind::Incompatible, Reason::Config(words.into()))
            }
            Unanswerable::TooMany => {
                self.error(Kind::PeerMisbehaved, Reason::Rule(Rule::TaskAsksForEver))
            }
        }
    }

    fn out_of_time(&mut self) -> Error {
        let reason = match self.trouble.take() {
            Some(Error::Call(error)) => error.reason,
            _ => Reason::Rule(Rule::TaskNotEnded),
        };
        self.error(Kind::DeadlinePassed, reason)
    }

    /// Returns the error of the call that the task was made of.
    fn error(&self, kind: Kind, reason: Reason) -> Error {
        let mut error = CallError::new(kind, Delivery::Unknown, self.plan.call.clone(), reason);
        error.attempts = self.looks.saturating_add(1);
        error.elapsed = self.plan.time.began.elapsed();
        error.into()
    }
}

/// Waits until the link is closed; for ever, once that was reported.
async fn closed(open: &mut Option<oneshot::Receiver<()>>) {
    match open {
        Some(receiver) => {
            // No value is ever sent; the end of the channel is the signal.
            let _ = receiver.await;
            *open = None;
        }
        None => std::future::pending().await,
    }
}

/// Whether the error is -32602, by which a server says that it does not know a task.
fn is_invalid_params(error: &Error) -> bool {
    error.server().is_some_and(|error| error.rpc.code == -32602)
}

/// How long one question may take, with all its recovery.
const LOOK_TIME: Duration = Duration::from_secs(60);
