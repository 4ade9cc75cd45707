//! Repeats of calls that may have run: for a while they are answered with the doubt that was told, by whichever link
//! of this process they come.
//!
//! Frameworks connect anew before they repeat, so what one link has told holds the calls of later ones. Links to one
//! server with the same credentials, whose clients have one name, are one caller; a link that was open before a call
//! began is another program's. The guard of the core decides, and its rule is not written here.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use ridethrough::Json;
use ridethrough::error::CallError;
use ridethrough::event::{Answer, Moment};
use ridethrough::machine::repeat_guard::{
    CallScope, CallSession, DoubtRepeat, RepeatGuard, is_look,
};
use ridethrough::machine::{CallDigest, Doubt, DoubtForm, Facts};
use serde_json::json;

/// What was told to all callers of this process.
struct ToldDoubts {
    guard: Mutex<RepeatGuard>,
    began: Instant,
    links: AtomicU64,
}

/// Whose calls go over a link, and what becomes of those that may have run.
pub(crate) struct RepeatSettings {
    pub(crate) form: DoubtForm,
    pub(crate) repeat: DoubtRepeat,
    /// Whether the SDK speaks the revision without sessions.
    pub(crate) is_stateless: bool,
    /// The credentials, however they are given.
    pub(crate) principal: Vec<u8>,
    /// The URL or the command.
    pub(crate) server: String,
    /// What the client calls itself.
    pub(crate) client: String,
}

/// The calls of one link, as the guard sees them.
pub(crate) struct Repeats {
    told: Arc<ToldDoubts>,
    settings: RepeatSettings,
    client: Mutex<String>,
    session: CallSession,
    /// The calls of tools that were answered last, by the ids of their requests: it may turn out that the SDK cannot
    /// read an answer.
    answered: Mutex<VecDeque<AnsweredCall>>,
}

struct AnsweredCall {
    id: Box<str>,
    call: CallDigest,
    began: Instant,
}

/// A call that was sent, and whose end concerns repeats of it or of another.
pub(crate) struct WatchedCall {
    repeats: Arc<Repeats>,
    /// The id of a request of the SDK.
    id: Option<Box<str>>,
    method: &'static str,
    params: Option<Json>,
    began: Instant,
}

impl Repeats {
    /// Opens the session of a link. As [`runtime::handle`](crate::runtime::handle), it is called with Python's lock
    /// held.
    pub(crate) fn new(settings: RepeatSettings) -> Arc<Self> {
        let told =
            TOLD.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default().clone();
        let number = told.links.fetch_add(1, Ordering::Relaxed);
        let session = CallSession { number, opened_at: told.moment(Instant::now()) };
        let client = Mutex::new(settings.client.clone());
        Arc::new(Self { told, settings, client, session, answered: Mutex::default() })
    }

    /// Whether the SDK speaks the revision without sessions.
    pub(crate) fn is_stateless(&self) -> bool {
        self.settings.is_stateless
    }

    /// Records what the client calls itself.
    pub(crate) fn set_client(&self, info: &Json) {
        let name = info.member("name").and_then(|it| it.string().map(|it| it.to_string()));
        *locked(&self.client) = name.unwrap_or_default();
    }

    /// Returns the doubt that answers a call which is not to be sent.
    pub(crate) fn held(&self, method: &str, params: Option<&Json>) -> Option<Doubt> {
        if method != CALL || self.settings.repeat == DoubtRepeat::Allow {
            return None;
        }
        let mut guard = locked(&self.told.guard);
        if guard.is_empty() {
            return None;
        }
        let call = self.scope().call(params?)?;
        guard.ask(self.told.moment(Instant::now()), &call, Some(self.session))
    }

    /// Watches a call that is sent; `None` if its end concerns no repeat.
    pub(crate) fn watch(
        self: &Arc<Self>,
        id: Option<&str>,
        method: &str,
        params: Option<&Json>,
    ) -> Option<WatchedCall> {
        let method = [CALL, READ].into_iter().find(|it| *it == method)?;
        let (repeats, id, params) = (self.clone(), id.map(Box::from), params.cloned());
        Some(WatchedCall { repeats, id, method, params, began: Instant::now() })
    }

    /// Returns the answer to a repeat that was not sent.
    pub(crate) fn answer_to_repeat(&self, doubt: &Doubt) -> Answer {
        doubt.answer_to_repeat(self.settings.form)
    }

    /// Returns the answer in place of one that the SDK cannot read. Its caller knows as little as if it had been lost.
    pub(crate) fn unreadable(&self, id: &str) -> Answer {
        let kind = "peerMisbehaved";
        let facts = json!({ "kind": kind, "mayHaveRun": true, "attempts": 1, "elapsedMs": 0 });
        let doubt = Doubt::new(kind, Json::of(&facts).expect("made of texts and numbers"));
        let mut answered = locked(&self.answered);
        let at = answered.iter().rposition(|it| &*it.id == id);
        let Some(answered) = at.and_then(|at| answered.remove(at)) else {
            return doubt.answer(DoubtForm::Error);
        };
        self.tell(answered.call, answered.began, &doubt);
        doubt.answer(self.settings.form)
    }

    fn tell(&self, call: CallDigest, began: Instant, doubt: &Doubt) {
        let (now, began) = (self.told.moment(Instant::now()), self.told.moment(began));
        locked(&self.told.guard).told(now, call, Some(self.session), began, doubt.clone());
    }

    fn scope(&self) -> CallScope {
        CallScope::new(&self.settings.principal, &locked(&self.client), &self.settings.server)
    }
}

impl WatchedCall {
    /// Records how the call ended. Returns the result that tells its caller of a doubt, if that is the form of it.
    pub(crate) fn ended(self, outcome: &Result<Answer, CallError>) -> Option<Answer> {
        let told = &self.repeats.told;
        match outcome {
            Ok(answer) => {
                let mut guard = locked(&told.guard);
                if !guard.is_empty() && is_look(self.method, answer) {
                    let (scope, session) = (self.repeats.scope(), self.repeats.session);
                    guard.looked(scope, Some(session), told.moment(self.began));
                }
                drop(guard);
                self.keep();
                None
            }
            Err(error) => self.ended_by(error),
        }
    }

    /// Keeps the identity of a call that was answered.
    fn keep(self) {
        let is_held = self.method == CALL && self.repeats.settings.repeat == DoubtRepeat::Hold;
        let (Some(id), Some(params)) = (self.id, self.params.filter(|_| is_held)) else { return };
        if params.as_bytes().len() > LARGEST {
            return;
        }
        if let Some(call) = self.repeats.scope().call(&params) {
            let mut answered = locked(&self.repeats.answered);
            if answered.len() >= MOST_ANSWERED {
                answered.pop_front();
            }
            answered.push_back(AnsweredCall { id, call, began: self.began });
        }
    }

    fn ended_by(self, error: &CallError) -> Option<Answer> {
        let params = self.params.as_ref();
        let is_unsafe = DoubtForm::Result.of_call(error, params) == DoubtForm::Result;
        if !is_unsafe || !error.may_have_run() {
            return None;
        }
        let (repeats, doubt) = (&self.repeats, Doubt::of(&Facts::of(error)));
        let is_held = repeats.settings.repeat == DoubtRepeat::Hold;
        if let Some(call) = params.filter(|_| is_held).and_then(|it| repeats.scope().call(it)) {
            repeats.tell(call, self.began, &doubt);
        }
        let form = repeats.settings.form;
        (form == DoubtForm::Result).then(|| doubt.answer(form))
    }
}

impl ToldDoubts {
    fn moment(&self, at: Instant) -> Moment {
        Moment::at(at.saturating_duration_since(self.began))
    }
}

impl Default for ToldDoubts {
    fn default() -> Self {
        Self { guard: Mutex::default(), began: Instant::now(), links: AtomicU64::new(0) }
    }
}

/// Forgets what was told, in the child of a fork: a thread that the child does not have may hold the guard.
pub(crate) fn forget() {
    if let Ok(mut told) = TOLD.try_lock() {
        std::mem::forget(told.take());
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code panics in the middle of a change, so a poisoned lock is still valid.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// More than Python leaves unread.
const MOST_ANSWERED: usize = 256;
/// The params of an answered call that is kept: the digest of larger ones costs more than the call.
const LARGEST: usize = 64 * 1024;

const CALL: &str = "tools/call";
const READ: &str = "resources/read";

static TOLD: Mutex<Option<Arc<ToldDoubts>>> = Mutex::new(None);
