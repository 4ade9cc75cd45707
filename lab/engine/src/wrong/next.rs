//! What a client does next after an exchange failed: where most habits show.

use std::time::Duration;

use serde_json::Value;

use super::call::{AnswerWay, Call};
use super::client::MOST_HAMMERED;
use super::mistake::Habit;
use super::target::Target;
use super::trouble::{Trouble, TroubleKind, TroubleRefusal};
use crate::lock::lock;

/// The next step of a call.
pub(super) enum Next {
    /// Ask the server for its era again, before anything is decided.
    AskEra,
    /// End the call.
    End,
    /// Wait for ever.
    Hang,
    /// Get a better token, and send again what was refused.
    LogIn(AnswerWay, String),
    Redirect(Target),
    /// Renew the session after a pause, and send the call again.
    Renew(Duration),
    Send(AnswerWay, Duration),
    /// Ask the server whether the session is really lost.
    Suspect,
}

/// What a call has tried so far.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// How many resumes brought nothing new.
    pub(super) barren: u32,
    logins: u32,
    posts: u32,
    redirects: u32,
    renewals: u32,
    resumes: u32,
    pub(super) useless: u32,
    waits: u32,
}

impl Call {
    pub(super) fn after_answer(&mut self, answer: &Value) -> Next {
        if let Some(next) = self.next_round(answer) {
            return next;
        }
        if self.is_lost_by_answer(answer) { self.suspected() } else { Next::End }
    }

    pub(super) fn after_trouble(&mut self, trouble: &Trouble, sent: AnswerWay) -> Next {
        let is_stuck = match trouble.kind {
            TroubleKind::Accepted => self.has(Habit::WaitsAfter202),
            TroubleKind::WrongType => true,
            _ => false,
        };
        if is_stuck || self.has(Habit::Hangs) {
            return Next::Hang;
        }
        if self.has(Habit::GivesUp) {
            return Next::End;
        }
        if let TroubleKind::Status(refusal) = &trouble.kind
            && let Some(next) = self.logged_in(refusal, sent)
        {
            return next;
        }
        match &trouble.kind {
            TroubleKind::Dial => Next::End,
            TroubleKind::Status(refusal) if sent == AnswerWay::Resume => {
                self.after_refused_resume(refusal)
            }
            TroubleKind::Status(refusal) => self.after_refusal(refusal),
            _ if self.method == DISCOVER => self.useless(),
            TroubleKind::Broken { was_dead: true }
                if sent == AnswerWay::Post && self.has(Habit::RepeatsOnDeadConnection) =>
            {
                self.posted(3, Duration::ZERO)
            }
            TroubleKind::Broken { .. } | TroubleKind::Ended if self.may_resume() => self.resumed(),
            _ => self.posted_by_habit(),
        }
    }

    /// Returns the step after a refusal for want of a better token, in a client that can log in. A call that
    /// is refused with the new token as well has nothing more to try.
    fn logged_in(&mut self, refusal: &TroubleRefusal, sent: AnswerWay) -> Option<Next> {
        self.client.login.as_ref()?;
        let header = refusal.challenge.as_deref().unwrap_or_default().to_owned();
        let is_asked = match refusal.code {
            401 => true,
            403 => header.contains("insufficient_scope"),
            _ => false,
        };
        if !is_asked {
            return None;
        }
        if sent == AnswerWay::Resume && self.has(Habit::RefreshesOnPostsOnly) {
            return Some(Next::End);
        }
        let most = if self.has(Habit::LogsInForever) { MOST_LOGINS } else { 1 };
        self.counts.logins += 1;
        Some(if self.counts.logins > most { Next::End } else { Next::LogIn(sent, header) })
    }

    fn may_resume(&self) -> bool {
        let is_resumable = !self.client.is_modern() || self.has(Habit::ResumesAnyway);
        self.last_event_id.is_some() && is_resumable && !self.has(Habit::PostsAgain)
    }

    fn resumed(&mut self) -> Next {
        let most = if self.has(Habit::Hammers) { MOST_HAMMERED } else { MOST_BARREN };
        let is_enough = self.counts.barren >= most && !self.has(Habit::ResumesForever)
            || self.counts.resumes >= 2 && self.has(Habit::TwoResumesInAll);
        if is_enough {
            return Next::End;
        }
        self.counts.barren += 1;
        self.counts.resumes += 1;
        if self.has(Habit::ResumesForever) {
            self.be_deaf();
            return Next::Send(AnswerWay::Resume, RESUME_PAUSE);
        }
        if self.has(Habit::Hammers) || self.has(Habit::IgnoresRetry) {
            return Next::Send(AnswerWay::Resume, Duration::ZERO);
        }
        let pause = self.retry.clone().and_then(|digits| self.wait(&digits, 1));
        Next::Send(AnswerWay::Resume, pause.unwrap_or(RESUME_PAUSE))
    }

    fn after_refused_resume(&mut self, refusal: &TroubleRefusal) -> Next {
        let is_passing = refusal.code >= 500 || refusal.code == 429;
        let is_stubborn = self.has(Habit::ResumesForever) || self.has(Habit::Hammers);
        if is_passing || is_stubborn { self.resumed() } else { Next::End }
    }

    fn after_refusal(&mut self, refusal: &TroubleRefusal) -> Next {
        if let Some(next) = self.after_refusal_by_era(refusal) {
            return next;
        }
        if self.is_lost_by_refusal(refusal) {
            return self.suspected();
        }
        match refusal.code {
            301..=308 => self.redirected(refusal.location.as_deref().unwrap_or_default()),
            401 if self.has(Habit::Repeats401) => self.posted(20, REPEAT_PAUSE),
            // There is no session yet that could be renewed.
            401 if self.has(Habit::RenewsOn401) => self.posted(MOST_RENEWED_ON_401, REPEAT_PAUSE),
            500..=599 if self.has(Habit::Repeats500) => self.posted(3, REPEAT_PAUSE),
            500..=599 if self.has(Habit::PostsAgain) => self.posted(3, REPEAT_PAUSE),
            429 | 500..=599 if self.has(Habit::Hammers) => self.posted_by_habit(),
            408 | 429 | 502..=504 | 520..=530 => self.waited(refusal),
            _ => self.posted_by_habit(),
        }
    }

    /// Waits as the server asks. Without proof that the call did not run, only a safe call is sent again.
    fn waited(&mut self, refusal: &TroubleRefusal) -> Next {
        let hint = refusal.retry_after.as_deref();
        self.counts.waits += 1;
        if self.counts.waits > 2 && self.has(Habit::ThreeTries) {
            return Next::End;
        }
        if self.has(Habit::UndercutsRetryAfter) {
            return Next::Send(AnswerWay::Post, Duration::from_millis(100));
        }
        if self.may_run_twice(refusal) {
            self.client.shut_for(hint.unwrap_or_default());
            return self.posted_by_habit();
        }
        match hint {
            Some(asked) => match self.wait(asked, 1000) {
                Some(pause) => Next::Send(AnswerWay::Post, pause),
                None => {
                    self.client.shut_for(asked);
                    Next::End
                }
            },
            None => Next::Send(AnswerWay::Post, backoff(self.counts.waits)),
        }
    }

    /// Whether a call that is sent again after this refusal may run a second time, and do harm.
    fn may_run_twice(&self, refusal: &TroubleRefusal) -> bool {
        let is_believed = refusal.retry_after.is_some() && self.has(Habit::BelievesHints);
        let is_proof = refusal.code == 429 && refusal.retry_after.is_some();
        self.is_unsafe() && !is_believed && !is_proof && !refusal.says_unrun(self.id)
    }

    /// Returns how long to wait for this hint; `None` if it makes no sense.
    fn wait(&self, asked: &str, unit_ms: u64) -> Option<Duration> {
        if self.has(Habit::ObeysAbsurdWaits) {
            self.be_deaf();
            // What is not a number is a date, which may be far away.
            let number = asked.trim().parse::<u64>().unwrap_or(u64::MAX);
            return Some(Duration::from_millis(number.saturating_mul(unit_ms)));
        }
        let wait = Duration::from_millis(asked.trim().parse::<u64>().ok()?.checked_mul(unit_ms)?);
        (wait <= LONGEST_WAIT).then_some(wait)
    }

    pub(super) fn renewed(&mut self) -> Next {
        let most = if self.has(Habit::KeepsDeadSession) || self.has(Habit::GivesUp) {
            0
        } else if self.has(Habit::RenewsForever) {
            u32::MAX
        } else if self.has(Habit::RenewsOn401) {
            MOST_RENEWED_ON_401
        } else {
            1
        };
        if self.counts.renewals >= most {
            return Next::End;
        }
        self.counts.renewals += 1;
        // Without a pause, a loop of renewals would never let a paused clock go on.
        let is_loop = self.counts.renewals > 1;
        Next::Renew(if is_loop { Duration::from_millis(20) } else { Duration::ZERO })
    }

    /// Whether an answer says that the session is lost. A tool may speak of sessions of its own ("Salesforce
    /// session expired"), so only an error with such words at its beginning or end counts.
    pub(super) fn is_lost_by_answer(&self, answer: &Value) -> bool {
        let error = answer.get("error");
        if self.method == "initialize" || self.client.is_modern() || self.has(Habit::Only404) {
            return false;
        }
        if self.has(Habit::RenewsOnAnyError) {
            return error.is_some() || answer.to_string().to_lowercase().contains("session");
        }
        let message = error.and_then(|error| error["message"].as_str()).unwrap_or_default();
        let message = message.to_lowercase();
        let is_phrase = PHRASES.iter().any(|phrase| message.starts_with(phrase));
        is_phrase || message.ends_with("expired session")
    }

    pub(super) fn is_lost_by_refusal(&self, refusal: &TroubleRefusal) -> bool {
        let text = refusal.body.to_lowercase();
        match refusal.code {
            _ if self.method == "initialize" => false,
            404 => true,
            _ if self.has(Habit::Only404) => false,
            400 | 401 if self.has(Habit::RenewsOnAnyError) => true,
            401 if self.has(Habit::RenewsOn401) => true,
            410 => true,
            400..=499 if self.has(Habit::RenewsOnAnyError) => text.contains("session"),
            400..=499 => PHRASES.iter().any(|phrase| text.contains(phrase)),
            _ => false,
        }
    }

    fn redirected(&mut self, location: &str) -> Next {
        self.counts.redirects += 1;
        let most = if self.has(Habit::FollowsAnywhere) { 5 } else { 1 };
        let Some(target) = Target::of(location, Some(&self.target)) else { return Next::End };
        let is_ours = target.authority == self.target.authority;
        let is_allowed = is_ours || self.has(Habit::FollowsAnywhere);
        if is_allowed && self.counts.redirects <= most { Next::Redirect(target) } else { Next::End }
    }

    fn posted_by_habit(&mut self) -> Next {
        if self.has(Habit::Hammers) {
            self.posted(MOST_HAMMERED, Duration::ZERO)
        } else if self.has(Habit::PostsAgain) || self.has(Habit::KeepsIds) || self.only_reads() {
            self.posted(3, REPEAT_PAUSE)
        } else {
            Next::End
        }
    }

    /// Whether a second run may do harm.
    pub(super) fn is_unsafe(&self) -> bool {
        self.method == "tools/call" && !self.only_reads()
    }

    /// Whether it calls a tool with `readOnlyHint`.
    fn only_reads(&self) -> bool {
        let tool = self.params["name"].as_str().unwrap_or_default();
        self.method == "tools/call" && lock(&self.client.read_only).contains(tool)
    }

    pub(super) fn posted(&mut self, most: u32, pause: Duration) -> Next {
        self.counts.posts += 1;
        if self.counts.posts > most { Next::End } else { Next::Send(AnswerWay::Post, pause) }
    }
}

/// Returns the pause before this repetition, if the server names none: patience is limited by time, not by
/// attempts.
fn backoff(number: u32) -> Duration {
    Duration::from_millis(200)
        .saturating_mul(1 << number.saturating_sub(1).min(4))
        .min(LONGEST_PAUSE)
}

/// Phrases by which servers refuse unknown sessions.
const PHRASES: &[&str] = &[
    "expired session",
    "invalid session",
    "no valid session",
    "session expired",
    "session has expired",
    "session id",
    "session is not",
    "session not found",
    "session terminated",
    "unknown session",
];
pub(super) const DISCOVER: &str = "server/discover";
/// How often `logs-in-forever` tries.
const MOST_LOGINS: u32 = 15;
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// The longest wait, as long as a call takes by default: a longer one would be in vain.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
const MOST_BARREN: u32 = 8;
const MOST_RENEWED_ON_401: u32 = 5;
const REPEAT_PAUSE: Duration = Duration::from_millis(50);
const RESUME_PAUSE: Duration = Duration::from_millis(100);
