//! Checks what must hold in every world of whole clients.
//!
//! The oracle stands outside: the server tells it what arrived and what ran, the applications tell it what
//! they asked and what they got, and it knows nothing of how the client decides. Where the network may hide
//! what was said, it judges only what is certain.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use super::certain::Certain;
use super::faults::Fault;
use super::history::{CallHistory, Client};
use super::told::Told;
use super::trace::Trace;
use crate::Violation;

/// The history of one world.
#[derive(Debug)]
pub(crate) struct Oracle {
    seed: u64,
    began: Instant,
    calls: BTreeMap<u64, CallHistory>,
    clients: BTreeMap<usize, Client>,
    certain: Certain,
    pub(crate) violations: Vec<Violation>,
    pub(crate) trace: Trace,
    pub(crate) executions: u64,
    /// How many executions the server denied.
    pub(crate) lies: u64,
    /// How many faults requests met.
    pub(crate) faults: u64,
    /// How often the server forgot its sessions.
    forgets: u64,
}

impl Oracle {
    pub(crate) fn new(seed: u64, certain: Certain, trace: Trace) -> Self {
        Self {
            seed,
            began: Instant::now(),
            calls: BTreeMap::new(),
            clients: BTreeMap::new(),
            certain,
            violations: Vec::new(),
            trace,
            executions: 0,
            lies: 0,
            faults: 0,
            forgets: 0,
        }
    }

    /// Adds a line to the trace.
    pub(crate) fn note(&mut self, line: impl FnOnce() -> String) {
        let at = self.began.elapsed();
        self.trace.write(at, line);
    }

    /// Records that an application begins a call.
    pub(crate) fn begun(&mut self, call: u64, client: usize, is_safe: bool, deadline: Duration) {
        self.note(|| format!("client {client} begins call {call}"));
        let manners = self.clients.entry(client).or_default();
        manners.calls += 1;
        manners.in_flight += 1;
        manners.most_in_flight = manners.most_in_flight.max(manners.in_flight);
        let history = CallHistory {
            client,
            is_safe,
            began: Instant::now(),
            deadline,
            executions: 0,
            lies: 0,
            arrivals: 0,
            excused: 0,
            unknown: 0,
            resumes: 0,
            last_resume: None,
            not_before: None,
            is_budgeted: false,
            ended: None,
            is_taken_back: false,
            is_denied: false,
            is_called_lost: false,
            forgets: self.forgets,
        };
        self.calls.insert(call, history);
    }

    /// Records that the server has read a whole request of this call.
    pub(crate) fn arrived(&mut self, call: u64) {
        self.note(|| format!("call {call} arrives"));
        let (now, certain) = (Instant::now(), self.certain);
        let Some(history) = self.calls.get_mut(&call) else {
            return self.broken("only what was asked arrives", format!("call {call}"));
        };
        history.arrivals += 1;
        history.forgets = self.forgets;
        let (arrivals, excused, client) = (history.arrivals, history.excused, history.client);
        let not_before = history.not_before.take().filter(|_| certain.answers_arrive);
        let is_repeat = std::mem::take(&mut history.is_budgeted);
        let ended = history.ended;
        if arrivals > certain.most_arrivals + excused {
            self.broken("attempts are bounded", format!("call {call} arrived {arrivals} times"));
        }
        self.nothing_follows(call, ended, now);
        if let Some(until) = not_before
            && now + TICK < until
        {
            let early = until - now;
            self.broken("hints are never undercut", format!("call {call}, {early:?} too early"));
        }
        if is_repeat {
            self.repeated(client, now);
        }
    }

    fn repeated(&mut self, client: usize, now: Instant) {
        let elapsed = now.duration_since(self.began).as_secs();
        let Some(manners) = self.clients.get_mut(&client) else { return };
        manners.repeats += 1;
        // L7: 20 % of calls, 10 a second, a burst of 100.
        let most = 100 + u64::from(manners.calls / 5) + 10 * (elapsed + 1);
        let repeats = manners.repeats;
        if u64::from(repeats) > most {
            let what = format!("client {client} repeated {repeats} times in {elapsed} s");
            self.broken("repeats stay within the budget", what);
        }
    }

    fn nothing_follows(&mut self, call: u64, ended: Option<Instant>, now: Instant) {
        let Some((ended, lag)) = ended.zip(self.certain.lag) else { return };
        let late = now.duration_since(ended);
        if late > lag {
            let what = format!("the server heard of call {call} {late:?} later");
            self.broken("nothing follows the outcome", what);
        }
    }

    /// Records that the server refused the session or the token of a call.
    pub(crate) fn turned_away(&mut self, call: u64) {
        if let Some(history) = self.calls.get_mut(&call) {
            history.unknown += 1;
        }
    }

    /// Records that the server ran the tool.
    pub(crate) fn executed(&mut self, call: u64) {
        self.note(|| format!("call {call} runs"));
        self.executions += 1;
        let Some(history) = self.calls.get_mut(&call) else { return };
        history.executions += 1;
        let honest = history.executions.saturating_sub(history.lies);
        let (is_safe, is_denied) = (history.is_safe, history.is_denied);
        if !is_safe && honest > 1 {
            self.broken("an unsafe call runs once", format!("call {call} ran {honest} times"));
        }
        if is_denied && honest > 0 {
            self.broken(DOUBT_IS_TOLD, format!("call {call} ran after that was ruled out"));
        }
    }

    /// Records that the server said that it did not run what it ran.
    pub(crate) fn lied(&mut self, call: u64) {
        self.lies += 1;
        if let Some(history) = self.calls.get_mut(&call) {
            history.lies += 1;
        }
    }

    /// Records that the server called the session of a call lost that it ran, though the session lives. If
    /// the session is really lost before the client could ask, that was a lie after all.
    ///
    /// It is a lie, too, if the words may be lost on the way, and what is left is a status that means "not
    /// carried out".
    pub(crate) fn called_lost(&mut self, call: u64, is_refusal_by_itself: bool) {
        let forgets = self.forgets;
        let is_certain = self.certain.answers_arrive || !is_refusal_by_itself;
        let Some(history) = self.calls.get_mut(&call) else { return };
        if history.forgets == forgets && is_certain {
            history.is_called_lost = true;
        } else {
            // The session was lost while the call ran, or the answer was.
            history.lies += 1;
            self.lies += 1;
        }
    }

    /// Records that the server forgot its sessions, or was replaced by another.
    pub(crate) fn sessions_forgotten(&mut self) {
        self.forgets += 1;
        let open = self.calls.values_mut().filter(|history| history.ended.is_none());
        for history in open.filter(|history| history.is_called_lost) {
            history.is_called_lost = false;
            history.lies += 1;
            self.lies += 1;
        }
    }

    /// Records that this call met a fault.
    pub(crate) fn met(&mut self, call: u64, fault: Fault) {
        self.note(|| format!("call {call} meets {}", fault.name()));
        self.faults += 1;
        let Some(history) = self.calls.get_mut(&call) else { return };
        history.is_budgeted = BUDGETED.contains(&fault);
        history.excused += u32::from(fault == Fault::RefusedStream);
    }

    /// Records that the server asked not to be sent this call for this long.
    pub(crate) fn deferred(&mut self, call: u64, wait: Duration) {
        if let Some(history) = self.calls.get_mut(&call) {
            history.not_before = Some(Instant::now() + wait);
        }
    }

    /// Records an attempt to resume the stream of this call.
    pub(crate) fn resumed(&mut self, call: u64) {
        self.note(|| format!("call {call} is resumed"));
        let (now, certain) = (Instant::now(), self.certain);
        let Some(history) = self.calls.get_mut(&call) else { return };
        let gap = history.last_resume.replace(now).map(|last| now.duration_since(last));
        history.resumes += 1;
        let (resumes, ended) = (history.resumes, history.ended);
        let not_before = history.not_before.take().filter(|_| certain.answers_arrive);
        if gap.is_some_and(|gap| gap + TICK < Duration::from_millis(100)) {
            self.broken("no two resumes within 100 ms", format!("call {call}, gap {gap:?}"));
        }
        if resumes > 1000 {
            self.broken("resumes are bounded", format!("call {call}: {resumes}"));
        }
        if let Some(until) = not_before
            && now + TICK < until
        {
            let what = format!("call {call} resumed {:?} too early", until - now);
            self.broken("hints are never undercut", what);
        }
        self.nothing_follows(call, ended, now);
    }

    /// Records that a client begins a handshake.
    pub(crate) fn shook_hands(&mut self, client: usize) {
        self.note(|| format!("client {client} shakes hands"));
        let times = &mut self.clients.entry(client).or_default().handshakes;
        let count = within_a_second(times);
        if count > 20 {
            let what = format!("client {client}: {count} handshakes within a second for nobody");
            self.broken("nobody is hammered", what);
        }
    }

    /// Records that a client opens its standing stream.
    pub(crate) fn listened(&mut self, client: usize) {
        self.note(|| format!("client {client} listens"));
        let manners = self.clients.entry(client).or_default();
        manners.streams += 1;
        let count = within_a_second(&mut manners.listens);
        // One for each session that was lost in that second.
        if count > 20 {
            let what = format!("client {client}: {count} standing streams within a second");
            self.broken("nobody is hammered", what);
        }
    }

    /// Records how many bytes of an endless answer a client read before it closed the connection.
    pub(crate) fn flooded(&mut self, call: u64, bytes: u64, most: u64) {
        if bytes > most && !self.certain.is_swallowed {
            let what = format!("{bytes} bytes of an answer to call {call} were taken in");
            self.broken("memory is bounded", what);
        }
    }

    /// Records how a call ended for the application.
    pub(crate) fn ended(&mut self, call: u64, told: &Told, expected: &str) {
        self.note(|| format!("call {call} ends: {told}"));
        let now = Instant::now();
        let Certain { is_mild, is_calm, .. } = self.certain;
        let Some(history) = self.calls.get_mut(&call) else { return };
        let is_second = history.ended.replace(now).is_some();
        let elapsed = now.duration_since(history.began);
        let is_late = elapsed > history.deadline + Duration::from_secs(1);
        let honest = history.executions.saturating_sub(history.lies);
        history.is_taken_back = *told == Told::TakenBack;
        history.is_denied = matches!(told, Told::Failed { may_have_run: false, .. });
        let (is_denied, is_safe, client) = (history.is_denied, history.is_safe, history.client);
        // Row 5: a call outlives one lost session, not two.
        let is_mild = is_mild && history.unknown < 2;
        if is_second {
            return self.broken("exactly one outcome", format!("call {call} ended again"));
        }
        if let Some(manners) = self.clients.get_mut(&client) {
            manners.in_flight -= 1;
            // The next call may begin a handshake of its own.
            manners.handshakes.clear();
        }
        if is_late {
            self.broken("no call hangs", format!("call {call} took {elapsed:?}"));
        }
        if is_denied && honest > 0 {
            self.broken(DOUBT_IS_TOLD, format!("call {call} ran, and ended: {told}"));
        }
        match told {
            Told::Answered(answer) if answer != expected => {
                let what = format!("call {call} got {}", beginning(answer));
                self.broken("an answer is the call's own, byte for byte", what);
            }
            Told::Failed { may_have_run, .. } if is_mild && (is_safe || !may_have_run) => {
                let what = format!("call {call} failed in a short outage: {told}");
                self.broken("short outages cost no call that may be repeated", what);
            }
            Told::Failed { .. } | Told::ServerError(_) if is_calm => {
                let what = format!("call {call} failed: {told}");
                self.broken("where nothing happens, every call is answered", what);
            }
            _ => {}
        }
    }

    /// Records that a bridge answered a request that is not open.
    pub(crate) fn answered_unasked(&mut self, call: u64) {
        // A cancel may cross the answer.
        let is_over = self.calls.get(&call).is_some_and(|history| !history.is_taken_back);
        if is_over {
            self.broken("exactly one outcome", format!("call {call} was answered again"));
        }
    }

    /// Forgets calls that ended long ago, in a world that lasts.
    pub(crate) fn forget(&mut self) {
        let now = Instant::now();
        let is_recent = |ended: Instant| now.duration_since(ended) < Duration::from_secs(300);
        self.calls.retain(|_, call| call.ended.is_none_or(is_recent));
    }

    /// Checks what must hold at the end. These clients made this many connections.
    pub(crate) fn closed(&mut self, connections: u64) {
        let open = self.calls.iter().filter(|(_, call)| call.ended.is_none());
        let open: Vec<u64> = open.map(|(call, _)| *call).collect();
        for call in open {
            self.broken("every call ends", format!("call {call} never did"));
        }
        // A standing stream ends with its session, and its connection with it. A connection that is idle for
        // a minute is closed, so that calls which come together may need as many new ones.
        let minutes = u32::try_from(self.began.elapsed().as_secs() / 60).unwrap_or(u32::MAX);
        let needed = |client: &Client| {
            client.most_in_flight.saturating_mul(minutes.saturating_add(2)) + 4 + client.streams
        };
        let most: u32 = self.clients.values().map(needed).sum();
        if self.certain.connections_last && connections > u64::from(most) {
            let what = format!("{connections} connections, {most} would do");
            self.broken("connections are used again", what);
        }
    }

    pub(crate) fn broken(&mut self, promise: &'static str, what: String) {
        self.note(|| format!("BROKEN: {promise}: {what}"));
        self.violations.push(Violation { seed: self.seed, promise, what });
    }
}

/// Returns how many of these times are within the last second, the present included.
fn within_a_second(times: &mut VecDeque<Instant>) -> usize {
    let now = Instant::now();
    times.push_back(now);
    while times.front().is_some_and(|at| now.duration_since(*at) > Duration::from_secs(1)) {
        times.pop_front();
    }
    times.len()
}

fn beginning(text: &str) -> &str {
    let end = text.char_indices().nth(80).map_or(text.len(), |(end, _)| end);
    &text[..end]
}

/// The tolerance for timers, which tick in milliseconds.
const TICK: Duration = Duration::from_millis(2);

const DOUBT_IS_TOLD: &str = "an error says whether the server may have run it";

/// Faults after which a repeat draws on the budget.
const BUDGETED: &[Fault] = &[
    Fault::Deferral,
    Fault::GatewayBefore,
    Fault::GatewayAfter,
    Fault::ResetBefore,
    Fault::ResetAfter,
    Fault::CloseBefore,
    Fault::CloseAfter,
    Fault::CutBody,
    Fault::LyingDeferral,
];
