//! Whether a repeat of a call that may have run is sent, or answered with the doubt that its caller was told.
//!
//! ```text
//!   told ──▶ held: an equal call gets the doubt again, and is held from there ──30 s, or 90 s in all──▶ forgotten
//!              └──the caller has looked: another call or read at that server began since, and was answered──▶ let pass
//! ```
//! Programs repeat a call whatever its error says, so the form of a doubt alone does not hold. A call is equal by
//! its digest, which leaves `_meta` out: a repeat gets a new progress token. This never sends anything, and holds
//! nothing for longer than a person waits who means to do the same thing twice.

mod names;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use ridethrough_wire::message::{Answer, Json, code};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::moment::Moment;
use crate::outcome::{Doubt, is_told_in};

/// What becomes of a call that is equal to one that may have run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DoubtRepeat {
    /// It is sent.
    Allow,
    /// It is answered with the doubt, for a while. The default: most repeats are those of a program.
    #[default]
    Hold,
}

/// Who calls which server: a principal, by a client of this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallScope([u8; 32]);

/// The identity of a call of a tool: its scope, the tool and its arguments, byte for byte.
///
/// A program that repeats a call writes it by the same code, so the order of members needs no care; a model that
/// writes it anew may change a byte, and means a new call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallDigest {
    scope: CallScope,
    call: [u8; 32],
}

/// The session in which a call is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallSession {
    /// Its number, which is no other session's.
    pub number: u64,
    /// When it was opened.
    pub opened_at: Moment,
}

/// The doubts that were told in the last 90 s.
#[derive(Debug, Default)]
pub struct RepeatGuard {
    /// The one that was told first comes first.
    told: VecDeque<ToldDoubt>,
}

#[derive(Debug)]
struct ToldDoubt {
    call: CallDigest,
    /// The session of the call; `None` of a caller without sessions.
    session: Option<CallSession>,
    /// When the call began.
    began: Moment,
    first_told: Moment,
    last_told: Moment,
    doubt: Doubt,
    /// The sessions that have looked since.
    looked: Vec<u64>,
}

impl CallScope {
    /// Identifies a caller at a server.
    pub fn new(principal: &[u8], client: &str, server: &str) -> Self {
        Self(digest([principal, client.as_bytes(), server.as_bytes()]))
    }

    /// Returns the identity of a call with these params of `tools/call`; `None` if no repeat of it is held: it goes
    /// on with an earlier call, asks for a task, or its name says that it only reads.
    pub fn call(self, params: &Json) -> Option<CallDigest> {
        let [name, arguments, state, responses, task] =
            params.pick(["name", "arguments", "requestState", "inputResponses", "task"]);
        if [state, responses, task].iter().any(Option::is_some) {
            return None;
        }
        let name = name?;
        let name = name.string()?;
        let arguments = arguments.as_ref().map(|it| it.as_bytes().as_ref()).unwrap_or_default();
        let call = || digest([&self.0, name.as_bytes(), arguments]);
        (!names::is_of_reading(&name)).then(|| CallDigest { scope: self, call: call() })
    }
}

impl RepeatGuard {
    /// Whether nothing is held: most of the time there is no doubt, and nothing has to be compared.
    pub fn is_empty(&self) -> bool {
        self.told.is_empty()
    }

    /// Records that a caller is told that this call, which began then, may have run.
    pub fn told(
        &mut self,
        now: Moment,
        call: CallDigest,
        session: Option<CallSession>,
        began: Moment,
        doubt: Doubt,
    ) {
        self.forget_old(now);
        let number = |it: Option<CallSession>| it.map(|it| it.number);
        self.told.retain(|it| it.call != call || number(it.session) != number(session));
        if self.told.len() >= MOST {
            self.forget_one_of_the_most();
        }
        let (first_told, last_told, looked) = (now, now, Vec::new());
        let told = ToldDoubt { call, session, began, first_told, last_told, doubt, looked };
        self.told.push_back(told);
    }

    /// Returns the doubt that answers this call, which is not to be sent; `None` if it is to be sent. The answer
    /// tells the doubt once more.
    pub fn ask(
        &mut self,
        now: Moment,
        call: &CallDigest,
        session: Option<CallSession>,
    ) -> Option<Doubt> {
        self.forget_old(now);
        let holds = |it: &&mut ToldDoubt| it.call == *call && it.holds(session);
        let told = self.told.iter_mut().rev().find(holds)?;
        told.last_told = now;
        Some(told.doubt.clone())
    }

    /// Records that another `tools/call` or `resources/read` of this caller, which began then, was answered by the
    /// server.
    pub fn looked(&mut self, scope: CallScope, session: Option<CallSession>, began: Moment) {
        let is_seen = |it: &ToldDoubt| it.call.scope == scope && it.first_told <= began;
        match session {
            None => self.told.retain(|it| !is_seen(it)),
            Some(session) => {
                for told in self.told.iter_mut().filter(|it| is_seen(it)) {
                    told.looked.push(session.number);
                    // What is left over holds for its time, and no longer.
                    if told.looked.len() > MOST_LOOKS {
                        told.looked.remove(0);
                    }
                }
            }
        }
    }

    fn forget_old(&mut self, now: Moment) {
        let is_held = |it: &ToldDoubt| {
            now.since(it.last_told) < SINCE_LAST && now.since(it.first_told) < SINCE_FIRST
        };
        if !self.told.iter().all(is_held) {
            self.told.retain(is_held);
        }
    }

    /// Makes room at the cost of the caller that has the most, so that no caller pushes out another's.
    fn forget_one_of_the_most(&mut self) {
        let mut counts: BTreeMap<CallScope, usize> = BTreeMap::new();
        self.told.iter().for_each(|it| *counts.entry(it.call.scope).or_default() += 1);
        let most = counts.into_iter().max_by_key(|(_, count)| *count).map(|(scope, _)| scope);
        if let Some(at) = self.told.iter().position(|it| Some(it.call.scope) == most) {
            self.told.remove(at);
        }
    }
}

impl ToldDoubt {
    /// Whether a call in this session is a repeat. Programs connect anew before they repeat, so a session that was
    /// opened later may be the caller's; one that was open before is another program of the same principal.
    fn holds(&self, session: Option<CallSession>) -> bool {
        let (Some(own), Some(asking)) = (self.session, session) else { return true };
        let may_be_own = asking.number == own.number || asking.opened_at >= self.began;
        may_be_own && !self.looked.contains(&asking.number)
    }
}

/// Whether this answer to a request of this method shows its caller something of the server. A question and
/// a doubt do not.
pub fn is_look(method: &str, answer: &Answer) -> bool {
    let shows = || match answer {
        Answer::Error(error) => {
            let told = error.member("code").and_then(|it| it.read::<i64>());
            told != Some(code::MAY_HAVE_RUN)
        }
        Answer::Result(result) => {
            let kind = result.member("resultType");
            let asks = kind.is_some_and(|it| it.string().as_deref() == Some("input_required"));
            !asks && !is_told_in(result)
        }
    };
    matches!(method, "tools/call" | "resources/read") && shows()
}

/// Each part is counted, so that none runs into the next.
fn digest<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

/// Retries of programs come within seconds of the error that they read.
const SINCE_LAST: Duration = Duration::from_secs(30);
/// A program that repeats without end must not hold a call for ever.
const SINCE_FIRST: Duration = Duration::from_secs(90);
/// Doubts of all callers together.
const MOST: usize = 1000;
/// Sessions that are known to have looked after one doubt.
const MOST_LOOKS: usize = 16;

#[cfg(test)]
mod tests;
