//! What an operator says about each server.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ridethrough::{ClientBuilder, Json};
use ridethrough_core::hints::OperatorHints;
use ridethrough_core::{DoubtForm, DoubtRepeat};
use ridethrough_oauth::{Account, OAuth};
use ridethrough_server::{Principal, SealKey};
use ridethrough_wire::message::ListKind;

use crate::catalogue::{AccessRights, Approved, NameStore, Rules, Share};
use crate::once::{MemoryRounds, RoundStore};
use crate::quota::{MemoryQuotas, QuotaStore};
use crate::tasks::{MemoryTasks, TaskStore};

/// One server behind the gateway.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerSettings {
    /// The name, by which callers and people know it. It is unique.
    pub name: Arc<str>,
    /// How it is reached.
    pub connect: Arc<dyn Connect>,
    /// How its tools are called, and which of them there are.
    pub rules: Rules,
    /// The definitions of its tools that were approved, if they are pinned.
    pub approved: Option<Approved>,
    /// Who shares a link to it.
    pub share: Share,
    /// How many calls may be under way at once; 64 by default.
    pub places: usize,
    /// How many more calls may wait for a place; 256 by default.
    pub queue: usize,
    /// How many links to it may be open at once; 64 by default. Each link to a local server is a process.
    pub links: usize,
    /// How long a shared link without a call stays open; 5 minutes by default.
    pub idle: Duration,
    /// How long a request may take in all; if it is not given, the client's policy decides: 10 minutes for a
    /// call of a tool, and a minute for everything else.
    pub timeout: Option<Duration>,
    /// Which of its tools can run twice, where they do not say it themselves or are not to be believed.
    pub hints: OperatorHints,
}

/// Makes clients of one server.
pub trait Connect: Send + Sync + 'static {
    /// Returns a builder with the address or the program, and the credentials; or why there is none.
    fn builder(&self) -> Result<ClientBuilder, String>;

    /// Returns how a person logs in to the server, if each principal has a login of its own there. The builder
    /// has no credentials then. By default the gateway's credentials are those of all.
    fn principal_login(&self) -> Option<OAuth> {
        None
    }

    /// Lets a client take its tokens from the account of a principal.
    fn with_account(&self, builder: ClientBuilder, account: Account) -> ClientBuilder {
        builder.credentials(account)
    }

    /// Whether the server is a process that is started for each link.
    fn is_local(&self) -> bool;

    /// Returns a text that changes if what [`builder`](Self::builder) returns does. It is never shown.
    fn fingerprint(&self) -> String;
}

/// Keeps the lists of servers from one process to the next, so that a server that is down at the start has
/// its last known entries. A list is for all, or for one principal: only that one may see it again.
pub trait ListStore: Send + Sync + 'static {
    /// Returns what was last kept of a list, exactly as it was.
    fn read(
        &self,
        server: &ServerSettings,
        principal: Option<&Principal>,
        kind: ListKind,
    ) -> Option<Vec<Json>>;

    /// Keeps a list. A failure must not matter to anyone but people.
    fn keep(
        &self,
        server: &ServerSettings,
        principal: Option<&Principal>,
        kind: ListKind,
        elements: &[Json],
    );
}

/// What holds for the gateway as a whole.
#[derive(Clone)]
#[non_exhaustive]
pub struct GatewaySettings {
    /// How many processes of local servers may run at once; 64 by default.
    pub children: usize,
    /// How callers are told that a call of a tool may have run; by a result by default, because programs repeat
    /// errors.
    pub doubt: DoubtForm,
    /// What becomes of a call that is equal to one that may have run; by default it is answered with that doubt for a
    /// while.
    pub doubt_repeat: DoubtRepeat,
    /// Where lists are kept from one process to the next; nowhere by default.
    pub lists: Option<Arc<dyn ListStore>>,
    /// Where it is kept from one process to the next whose a name is that two servers want; nowhere by default.
    pub names: Option<Arc<dyn NameStore>>,
    /// What each principal may; by default all may everything.
    pub access: Option<AccessRights>,
    /// Whether a person who logs in for a principal must show its token; by default they need not.
    pub login_needs_token: bool,
    /// Where the calls of principals are counted; in this process by default.
    pub quotas: Arc<dyn QuotaStore>,
    /// Where the tasks of principals are kept; in this process by default.
    pub tasks: Arc<dyn TaskStore>,
    /// Where it is recorded which states of rounds were used; in this process by default.
    pub rounds: Arc<dyn RoundStore>,
    /// What seals the ids of tasks and the states of rounds that callers carry. By default it is random, and
    /// no gateway knows what an earlier one has sealed.
    pub seal_key: Arc<SealKey>,
}

impl Default for GatewaySettings {
    fn default() -> Self {
        let secret = SealKey::random().expect("the operating system has randomness");
        Self {
            children: 64,
            doubt: DoubtForm::default(),
            doubt_repeat: DoubtRepeat::default(),
            lists: None,
            names: None,
            access: None,
            login_needs_token: false,
            quotas: Arc::new(MemoryQuotas::default()),
            tasks: Arc::new(MemoryTasks::default()),
            rounds: Arc::new(MemoryRounds::default()),
            seal_key: Arc::new(SealKey::new(&secret)),
        }
    }
}

impl fmt::Debug for GatewaySettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatewaySettings").field("children", &self.children).finish_non_exhaustive()
    }
}

impl ServerSettings {
    /// Creates the settings of a server, with the defaults.
    pub fn new(name: &str, connect: impl Connect) -> Self {
        Self {
            name: name.into(),
            connect: Arc::new(connect),
            rules: Rules::default(),
            approved: None,
            share: Share::default(),
            places: 64,
            queue: 256,
            links: 64,
            idle: Duration::from_secs(300),
            timeout: None,
            hints: OperatorHints::default(),
        }
    }

    /// Whether links that were made with other settings can stay: only rules differ.
    pub(crate) fn keeps_links_of(&self, other: &Self) -> bool {
        self.connect.fingerprint() == other.connect.fingerprint()
            && self.share == other.share
            && (self.places, self.queue, self.links) == (other.places, other.queue, other.links)
            && (self.idle, self.timeout) == (other.idle, other.timeout)
            && self.hints == other.hints
    }
}

impl fmt::Debug for dyn Connect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connect").field("is_local", &self.is_local()).finish_non_exhaustive()
    }
}
