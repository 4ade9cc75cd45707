//! Knows what is true in a world, and judges what clients do by it.
//!
//! The servers tell it what arrived, the store what was written, people what they were asked, callers what
//! they got. It knows nothing of how the library decides.

mod calls;
mod logins;
mod tokens;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use ridethrough_lab::Request;
use ridethrough_oauth_core::store::GrantRecord;
use tokio::time::Instant;

use super::addresses::origin;
use super::faults::{AuthFault, AuthFaults};
use super::grants::{Grants, Issuer};
use super::shape::AuthShape;
use crate::Violation;
use crate::world::trace::Trace;
use calls::AuthCall;

pub(super) use calls::{Admission, DEADLINE};

/// What is true in a world.
#[derive(Debug)]
pub(super) struct AuthOracle {
    seed: u64,
    began: Instant,
    shape: AuthShape,
    faults: AuthFaults,
    pub(super) trace: Trace,
    pub(super) violations: Vec<Violation>,
    pub(super) counts: BTreeMap<&'static str, u64>,
    one: Grants,
    two: Grants,
    /// The issuer that the MCP server sends its people to.
    pub(super) named: Issuer,
    /// The issuer whose metadata names a foreign token endpoint.
    pub(super) swapped: Option<Issuer>,
    /// When that last changed.
    moved_at: Option<Instant>,
    record: Option<StoredLogin>,
    /// Since when nothing but a login helps.
    needed_since: Option<Instant>,
    /// When a login was last needed.
    needed_until: Option<Instant>,
    calls: BTreeMap<u64, AuthCall>,
    /// When requests for tokens met trouble.
    troubles: VecDeque<Instant>,
    refreshes: VecDeque<Instant>,
    early_ends: VecDeque<Instant>,
    /// How many logins of a process wait for its person.
    waiting: BTreeMap<usize, i32>,
    /// How often a process asked its person for a scope that is never granted.
    endless: BTreeMap<usize, u32>,
    /// When the person of a process last said no.
    said_no: BTreeMap<usize, Instant>,
    /// What each process did lately: connects, and looks at the store.
    dials: BTreeMap<usize, VecDeque<Instant>>,
    loads: BTreeMap<usize, VecDeque<Instant>>,
    /// How many processes were started.
    pub(super) started: u32,
}

/// What the store holds, as far as it matters here.
#[derive(Debug)]
struct StoredLogin {
    issuer: Issuer,
    client: String,
    access: String,
    refresh: Option<String>,
    scope: String,
}

impl AuthOracle {
    pub(super) fn new(seed: u64, shape: AuthShape, faults: AuthFaults, trace: Trace) -> Self {
        let (one, two) = (Grants::new(Issuer::One, &shape), Grants::new(Issuer::Two, &shape));
        Self {
            seed,
            began: Instant::now(),
            shape,
            faults,
            trace,
            violations: Vec::new(),
            counts: BTreeMap::new(),
            one,
            two,
            named: Issuer::One,
            swapped: None,
            moved_at: None,
            record: None,
            needed_since: Some(Instant::now()),
            needed_until: None,
            calls: BTreeMap::new(),
            troubles: VecDeque::new(),
            refreshes: VecDeque::new(),
            early_ends: VecDeque::new(),
            waiting: BTreeMap::new(),
            endless: BTreeMap::new(),
            said_no: BTreeMap::new(),
            dials: BTreeMap::new(),
            loads: BTreeMap::new(),
            started: 0,
        }
    }

    /// Adds a line to the trace.
    pub(super) fn note(&mut self, line: impl FnOnce() -> String) {
        let at = self.began.elapsed();
        self.trace.write(at, line);
    }

    pub(super) fn broken(&mut self, promise: &'static str, what: String) {
        self.note(|| format!("BROKEN: {promise}: {what}"));
        self.violations.push(Violation { seed: self.seed, promise, what });
    }

    /// Records that a fault happened.
    pub(super) fn met(&mut self, fault: AuthFault) {
        self.note(|| format!("fault: {}", fault.name()));
        self.count("faults");
    }

    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    pub(super) const fn grants(&mut self, issuer: Issuer) -> &mut Grants {
        match issuer {
            Issuer::One => &mut self.one,
            Issuer::Two => &mut self.two,
        }
    }

    /// Records what a server was sent, and looks for secrets that are not its own.
    pub(super) fn received(&mut self, site: &'static str, request: &Request) {
        let mut text = format!("{} {}", request.method, request.target);
        for (name, value) in &request.headers {
            text += &format!("\n{name}: {}", String::from_utf8_lossy(value.as_bytes()));
        }
        text += &String::from_utf8_lossy(&request.body);
        for issuer in [Issuer::One, Issuer::Two] {
            for kind in ["at", "rt", "code"] {
                let is_own = match site {
                    "resource" => kind == "at",
                    site => site == issuer.name() && kind != "at",
                };
                let secret = format!("{kind}.{}.", issuer.name());
                if !is_own && text.contains(&secret) {
                    let what = format!("{site} was sent {secret}.. with {}", request.target);
                    self.broken("no secret at a foreign place", what);
                }
            }
        }
    }

    /// Records that the store holds this record.
    pub(super) fn stored(&mut self, process: usize, record: Option<&GrantRecord>) {
        let Some((record, tokens)) = record.and_then(|it| Some((it, it.tokens.as_ref()?))) else {
            return self.broken("a login is not deleted", format!("process {process} did"));
        };
        let is_of = |issuer: &Issuer| record.endpoints.issuer() == origin(*issuer);
        let Some(issuer) = [Issuer::One, Issuer::Two].into_iter().find(is_of) else {
            return self.broken("a login is of an issuer", record.endpoints.issuer().to_owned());
        };
        let refresh = tokens.refresh.as_ref().map(|it| it.expose().to_owned());
        self.note(|| format!("process {process} stores {refresh:?}, end {:?}", record.end));
        if refresh.is_none() && record.end.is_none() && self.holds_good_refresh_token(issuer) {
            self.broken("a refresh token is not given away", format!("process {process} did"));
        }
        if let Some(refresh) = &refresh {
            let held = self.record.as_ref().and_then(|it| it.refresh.clone());
            let is_replaced = self.grants(issuer).is_successor_stored(refresh);
            if is_replaced && held.as_ref() != Some(refresh) {
                let what = format!("process {process} stored {refresh} over {held:?}");
                self.broken("the store never goes back", what);
            }
            if let Some(token) = self.grants(issuer).refresh_token(refresh) {
                token.is_stored = true;
            }
        }
        self.record = Some(StoredLogin {
            issuer,
            client: record.client.id.clone(),
            access: tokens.access.expose().to_owned(),
            refresh,
            scope: tokens.scope.clone().unwrap_or_default(),
        });
        self.reconsider();
    }

    fn holds_good_refresh_token(&mut self, issuer: Issuer) -> bool {
        let held = self.record.as_ref().filter(|it| it.issuer == issuer);
        let held = held.and_then(|it| it.refresh.clone());
        held.is_some_and(|refresh| !self.grants(issuer).is_ended(&refresh))
    }

    /// Records that a process connects; whether that is one time too many, after which it is stuck.
    pub(super) fn dialled(&mut self, process: usize) -> bool {
        let many = Self::lately(self.dials.entry(process).or_default(), Duration::from_secs(1));
        if many == MOST_A_SECOND {
            let what = format!("process {process} connected {many} times within a second");
            self.broken("no storm of refreshes", what);
        }
        many >= MOST_A_SECOND
    }

    /// Records that a process reads the store; whether that is one time too many.
    pub(super) fn loaded(&mut self, process: usize) -> bool {
        let many = Self::lately(self.loads.entry(process).or_default(), Duration::from_secs(1));
        if many == MOST_A_SECOND {
            let what = format!("process {process} read it {many} times within a second");
            self.broken("the store is read when there is a reason", what);
        }
        many >= MOST_A_SECOND
    }

    /// Records that something could not be stored.
    pub(super) fn not_stored(&mut self) {
        self.one.lose_what_is_not_stored();
        self.two.lose_what_is_not_stored();
    }

    /// Records that a process was killed.
    pub(super) fn killed(&mut self, process: usize) {
        self.note(|| format!("process {process} is killed"));
        self.count("kills");
        self.not_stored();
    }

    /// Whether there is a login at the issuer that the MCP server names.
    pub(super) fn stored_issuer(&self) -> Option<Issuer> {
        self.record.as_ref().map(|it| it.issuer)
    }

    /// How many of these times are within the last while, the present included.
    fn lately(times: &mut VecDeque<Instant>, time: Duration) -> usize {
        let now = Instant::now();
        times.push_back(now);
        while times.front().is_some_and(|at| now.duration_since(*at) > time) {
            times.pop_front();
        }
        times.len()
    }
}

/// A hundred calls at once are fewer.
const MOST_A_SECOND: usize = 300;
