//! What is true of calls: how often each ran, and whether its failure is anybody's fault but ours.

use std::time::Duration;

use tokio::time::Instant;

use super::AuthOracle;
use crate::world::told::Told;

/// One call.
#[derive(Debug)]
pub(super) struct AuthCall {
    process: usize,
    is_safe: bool,
    began: Instant,
    executions: u32,
    /// Whether the server lost its answer.
    is_answer_lost: bool,
    /// Whether the server wanted more scope for it.
    is_short_of_scope: bool,
    /// How often its token was refused.
    refusals: u32,
}

/// Whether the MCP server lets a request in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::auth) enum Admission {
    MoreScope,
    Unauthorized,
    Welcome,
}

impl AuthOracle {
    pub(in crate::auth) fn begun(&mut self, call: u64, process: usize, is_safe: bool) {
        self.note(|| format!("process {process} begins call {call}"));
        let began = Instant::now();
        let history = AuthCall {
            process,
            is_safe,
            began,
            executions: 0,
            is_answer_lost: false,
            is_short_of_scope: false,
            refusals: 0,
        };
        self.calls.insert(call, history);
    }

    /// Decides whether a request with this token is let in.
    pub(in crate::auth) fn admit(
        &mut self,
        token: &str,
        wanted: &str,
        call: Option<u64>,
    ) -> Admission {
        let admission = match self.scope_of(token) {
            None => Admission::Unauthorized,
            Some(scope) if scope.split(' ').any(|it| it == wanted) => Admission::Welcome,
            Some(_) => Admission::MoreScope,
        };
        if admission != Admission::Welcome {
            self.note(|| format!("{token:?} is refused: {admission:?} {wanted}, call {call:?}"));
        }
        if let Some(call) = call.and_then(|it| self.calls.get_mut(&it)) {
            call.refusals += u32::from(admission == Admission::Unauthorized);
            call.is_short_of_scope |= admission == Admission::MoreScope;
        }
        admission
    }

    pub(in crate::auth) fn executed(&mut self, call: u64) {
        self.note(|| format!("call {call} runs"));
        self.count("executions");
        let Some(history) = self.calls.get_mut(&call) else { return };
        history.executions += 1;
        if history.executions > 1 && !history.is_safe {
            self.broken("no unsafe call runs twice", format!("call {call}"));
        }
    }

    pub(in crate::auth) fn lost_answer(&mut self, call: u64) {
        if let Some(history) = self.calls.get_mut(&call) {
            history.is_answer_lost = true;
        }
    }

    /// Records how a call ended for the application.
    pub(in crate::auth) fn ended(&mut self, call: u64, told: &Told, expected: &str) {
        self.note(|| format!("call {call} ends: {told}"));
        let Some(history) = self.calls.remove(&call) else { return };
        let elapsed = history.began.elapsed();
        if elapsed > DEADLINE + Duration::from_secs(1) {
            self.broken("no call hangs", format!("call {call} took {elapsed:?}"));
        }
        match told {
            Told::Answered(answer) if answer != expected => {
                self.broken("an answer is the call's own", format!("call {call}"));
            }
            Told::Answered(_) | Told::TakenBack => {}
            Told::Failed { may_have_run: false, .. } if history.executions > 0 => {
                self.broken("an error says whether it ran", format!("call {call}: {told}"));
            }
            Told::Failed { .. } | Told::ServerError(_) => {
                if !self.is_excused(&history) {
                    let what = format!("call {call} of process {}: {told}", history.process);
                    self.broken("no call is lost", what);
                }
            }
        }
    }

    fn is_excused(&self, call: &AuthCall) -> bool {
        let began = call.began;
        let is_login_needed =
            self.needed_since.is_some() || self.needed_until.is_some_and(|at| at >= began);
        // A login at the new issuer is for nothing if the server moves back meanwhile.
        let is_moving = self.moved_at.is_some_and(|at| at + Duration::from_secs(330) >= began);
        // One failure of the authorization server costs no call. After two the next is asked later.
        let recent = |at: &&Instant| **at + Duration::from_secs(300) >= began;
        let is_in_trouble = self.troubles.iter().filter(recent).count() >= 2;
        let early_ends = self.early_ends.iter().filter(|at| **at >= began).count();
        // Row 22 of the contract: a call outlives one refused token, not two.
        let is_refused_twice = call.refusals >= 2 && early_ends >= 2;
        call.is_answer_lost
            || call.is_short_of_scope
            || is_login_needed
            || is_moving
            || is_in_trouble
            || is_refused_twice
    }
}

/// The deadline of every call.
pub(in crate::auth) const DEADLINE: Duration = Duration::from_secs(60);
