//! One server: its links, its places, what it said of itself, and its lists being read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use ridethrough::error::{CallError, Kind};
use ridethrough::policy::ReadRate;
use ridethrough::server::{Identity, Server};
use ridethrough::{Client, Era, Error, Peers};
use ridethrough_core::ReplayRule;
use ridethrough_server::{Presence, Principal};
use ridethrough_wire::message::{Json, ListKind, LogLevel};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::{
    Bulkhead, Hints, Link, LinkPlace, LinkSettings, Links, Listener, MessageSender, Refresh,
};
use crate::catalogue::{Audience, Share, View};
use crate::logins::PrincipalLogin;
use crate::settings::ServerSettings;

/// One server.
pub(crate) struct Upstream {
    pub(crate) settings: ServerSettings,
    pub(crate) bulkhead: Bulkhead,
    pub(crate) links: Links,
    /// What it said of itself, to all or to a principal.
    described: Mutex<BTreeMap<Audience, Server>>,
    /// When it last refused the credentials, and with what.
    refused: Mutex<Option<(Instant, CallError)>>,
    is_sick: AtomicBool,
    /// How many calls were not sent, because they repeat one that may have run.
    pub(crate) held_repeats: AtomicU64,
    /// Those for whom it was looked for what an earlier process has kept.
    recalled: Mutex<BTreeSet<Audience>>,
    /// Whether each principal has a login of its own.
    pub(crate) has_logins: bool,
    /// Those logins, as far as they are at hand.
    logins: Mutex<BTreeMap<Principal, Arc<PrincipalLogin>>>,
    callback: CallbackUrl,
    /// How fast large answers are read, those of all servers together.
    read_rate: ReadRate,
    /// All clients of this server, which find out together when its trouble is over.
    peers: Peers,
    /// Who is being connected for the first time.
    pub(crate) reaching: Mutex<BTreeMap<Principal, Refresh>>,
    /// Which of its tools can run twice.
    hints: Hints,
    /// The reading of lists, by those who share the link that they are read over.
    pub(crate) lists: Mutex<BTreeMap<(Audience, ListKind), ListState>>,
}

/// What is known about the reading of a list.
#[derive(Default)]
pub(crate) struct ListState {
    pub(crate) running: Option<Refresh>,
    /// When it was last read, and whether that succeeded.
    pub(crate) last: Option<(Instant, bool)>,
    /// Why it could not be read the last time, if it could not.
    pub(crate) why: Option<String>,
    /// Whether it must be read again when the running request is over.
    pub(crate) is_outdated: bool,
    /// Whether it will be read again soon.
    pub(crate) is_planned: bool,
}

/// Where authorization servers send browsers back to, as soon as that is known.
#[derive(Clone)]
pub(crate) struct CallbackUrl {
    pub(crate) public_url: Arc<OnceLock<String>>,
    pub(crate) path: &'static str,
}

/// A conversation that uses links.
pub(crate) struct Asker {
    pub(crate) conversation: u64,
    pub(crate) principal: Principal,
    /// What its client says of itself.
    pub(crate) identity: Option<Identity>,
    /// The level from which its client wants log messages.
    pub(crate) level: Option<LogLevel>,
    pub(crate) mailbox: MessageSender,
    /// Says whether its client is there.
    pub(crate) presence: Presence,
}

impl Upstream {
    pub(crate) fn new(
        settings: ServerSettings,
        callback: CallbackUrl,
        read_rate: ReadRate,
        children: &Arc<Semaphore>,
    ) -> Arc<Self> {
        let children = settings.connect.is_local().then(|| children.clone());
        Arc::new(Self {
            bulkhead: Bulkhead::new(settings.places, settings.queue),
            has_logins: settings.connect.principal_login().is_some(),
            links: Links::new(settings.links, children),
            settings,
            described: Mutex::default(),
            refused: Mutex::default(),
            is_sick: AtomicBool::new(false),
            held_repeats: AtomicU64::new(0),
            recalled: Mutex::default(),
            logins: Mutex::default(),
            callback,
            read_rate,
            peers: Peers::default(),
            reaching: Mutex::default(),
            hints: Hints::default(),
            lists: Mutex::default(),
        })
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        &self.settings.name
    }

    /// Returns who shares links to it. What the login of a principal shows is nobody else's.
    pub(crate) fn share(&self) -> Share {
        match self.settings.share {
            Share::All if self.has_logins => Share::User,
            share => share,
        }
    }

    /// Returns whose link a conversation uses.
    pub(crate) fn owner(&self, asker: &Asker) -> Audience {
        match self.share() {
            Share::All => Audience::Everybody,
            Share::Session => Audience::Conversation(asker.conversation),
            Share::User => Audience::Principal(asker.principal.clone()),
        }
    }

    /// Returns what the server said of itself to this principal, if it was ever reached.
    pub(crate) fn described(&self, principal: &Principal) -> Option<Server> {
        lock(&self.described).get(&self.everyone(principal)).cloned()
    }

    /// Whether the server was ever reached, by anybody.
    pub(crate) fn was_reached(&self) -> bool {
        !lock(&self.described).is_empty()
    }

    /// Connects, if that was never done, and keeps what the server says of itself.
    pub(crate) async fn describe(&self, link: &Link) {
        let server = match link.client.connect().await {
            Ok(server) => server,
            // What one principal lacks is no word about others.
            Err(Error::Call(error)) if error.kind == Kind::Unauthorized && !self.has_logins => {
                *lock(&self.refused) = Some((Instant::now(), error));
                return;
            }
            // It may be well the next time.
            Err(_) => return,
        };
        *lock(&self.refused) = None;
        lock(&self.described).insert(self.everyone(&link.principal), server);
    }

    /// Returns the login of a principal, if each has its own; or why there can be none.
    pub(crate) fn login(
        &self,
        principal: &Principal,
    ) -> Option<Result<Arc<PrincipalLogin>, String>> {
        let oauth = self.settings.connect.principal_login()?;
        let mut logins = lock(&self.logins);
        if let Some(login) = logins.get(principal) {
            return Some(Ok(login.clone()));
        }
        if logins.len() >= MANY {
            // The others are in the store, and are read again when they are needed.
            logins.retain(|_, it| Arc::strong_count(it) > 1);
        }
        let CallbackUrl { public_url, path } = &self.callback;
        let callback = public_url.get().map(|url| format!("{url}{path}"));
        let made = self.settings.connect.builder().and_then(|builder| {
            PrincipalLogin::new(oauth, &builder, principal, callback.as_deref())
        });
        let made = made.map(Arc::new);
        if let Ok(login) = &made {
            logins.insert(principal.clone(), login.clone());
        }
        Some(made)
    }

    /// Whether a principal cannot call because a person must log in for it first.
    pub(crate) fn needs_login(&self, principal: &Principal) -> bool {
        let login = lock(&self.logins).get(principal).cloned();
        login.is_some_and(|it| it.needed().is_some())
    }

    /// Returns those who may know what a principal knows.
    fn everyone(&self, principal: &Principal) -> Audience {
        match self.share() {
            Share::All => Audience::Everybody,
            Share::Session | Share::User => Audience::Principal(principal.clone()),
        }
    }

    /// Notes that the server could not be asked. Returns whether that is new.
    pub(crate) fn turn_sick(&self) -> bool {
        !self.is_sick.swap(true, Ordering::Relaxed)
    }

    /// Notes that the server answers. Returns whether that is new.
    pub(crate) fn turn_well(&self) -> bool {
        self.is_sick.swap(false, Ordering::Relaxed)
    }

    /// Whether nobody has looked yet for what an earlier process has kept for this audience.
    pub(crate) fn is_first_recall(&self, audience: &Audience) -> bool {
        lock(&self.recalled).insert(audience.clone())
    }

    /// Lets what an earlier process has kept be looked for again: the rules may have changed.
    pub(crate) fn recall_again(self: Arc<Self>) -> Arc<Self> {
        lock(&self.recalled).clear();
        self
    }

    /// Looks at the reading of a list that a caller sees; `None` if it was never begun.
    pub(crate) fn list_state(
        &self,
        kind: ListKind,
        view: &View,
        look: impl Fn(&ListState) -> bool,
    ) -> Option<bool> {
        let lists = lock(&self.lists);
        let mut states = view.audiences(self.share()).filter_map(|it| lists.get(&(it, kind)));
        states.next().map(look)
    }

    /// Forgets what is known of an audience that is gone.
    pub(crate) fn forget(&self, audience: &Audience) {
        lock(&self.lists).retain(|(it, _), _| it != audience);
        lock(&self.described).remove(audience);
        lock(&self.recalled).remove(audience);
        self.hints.forget(audience);
    }

    /// Takes in what a list of tools that was read for an audience says of them.
    pub(crate) fn learn_hints(&self, principal: &Principal, audience: &Audience, tools: &[Json]) {
        self.hints.learn(self.login_of(principal), audience.clone(), tools);
    }

    /// Returns the rule for a principal's calls of a tool. What the operator says counts first.
    pub(crate) fn replay_rule(&self, principal: &Principal, tool: &str) -> ReplayRule {
        match self.settings.hints.rule(tool) {
            ReplayRule::ByNature => self.hints.rule(&self.login_of(principal), tool),
            said => said,
        }
    }

    /// Whether the list of tools is to be read for its hints: nobody has, and the server may have tools.
    pub(crate) fn wants_hints(&self, principal: &Principal) -> bool {
        // Nearly always they are known, which is found out at little cost.
        self.hints.are_wanted(&self.login_of(principal))
            && self.described(principal).is_none_or(|it| it.can("tools"))
    }

    /// Returns whose credentials the calls of a principal are made with; `None` for the gateway's own.
    fn login_of(&self, principal: &Principal) -> Option<Principal> {
        self.has_logins.then(|| principal.clone())
    }

    /// Returns with what the server has just refused the credentials, if it has. For a moment it need not be
    /// asked again, and neither need a person who did not log in.
    pub(crate) fn refused(&self) -> Option<CallError> {
        let refused = lock(&self.refused);
        refused.as_ref().filter(|(at, _)| at.elapsed() < MOMENT).map(|(_, error)| error.clone())
    }

    /// Returns the link for a conversation. It is opened if there is none, which does not wait: a client
    /// connects with its first call.
    pub(crate) fn link(&self, asker: &Asker, listener: impl Listener) -> Result<Arc<Link>, String> {
        let owner = self.owner(asker);
        let open = |place| self.open_link(asker, &owner, place, listener);
        self.links.get_or_open(&owner, asker.conversation, &asker.mailbox, open)
    }

    fn open_link(
        &self,
        asker: &Asker,
        owner: &Audience,
        place: LinkPlace,
        listener: impl Listener,
    ) -> Result<Arc<Link>, String> {
        let is_own = matches!(owner, Audience::Conversation(_));
        let login = self.login(&asker.principal).transpose()?;
        let client = self.client(asker, is_own, login.as_deref())?;
        let settings = LinkSettings {
            server: self.name().clone(),
            principal: asker.principal.clone(),
            login,
            place,
            idle: (!is_own).then_some(self.settings.idle),
            presence: is_own.then(|| asker.presence.clone()),
            is_for_all: *owner == Audience::Everybody,
        };
        let link = Link::open(client, settings, listener);
        link.client.keep_connected();
        if let Some(level) = asker.level.filter(|_| is_own) {
            set_level(&link, level);
        }
        Ok(link)
    }

    /// Makes a client. One that is shared cannot know what its callers can do, so it offers what they are
    /// asked by call; one of a single conversation says what the conversation's client says.
    fn client(
        &self,
        asker: &Asker,
        is_own: bool,
        login: Option<&PrincipalLogin>,
    ) -> Result<Client, String> {
        let connect = &self.settings.connect;
        // Servers of both eras ask questions and log only in a session.
        let builder = connect
            .builder()?
            .prefer_era(Era::Legacy)
            .read_rate(self.read_rate.clone())
            .peers(&self.peers);
        let builder = match login {
            Some(login) => connect.with_account(builder, login.account.clone()),
            None => builder,
        };
        let builder = if is_own {
            builder
        } else {
            let form_and_url = json!({ "form": {}, "url": {} });
            builder.capabilities(json!({ "elicitation": form_and_url, "sampling": {} }))
        };
        let client = builder.build().map_err(|error| error.to_string().replace('\n', " "))?;
        if let Some(identity) = asker.identity.as_ref().filter(|_| is_own) {
            client.set_identity(identity.clone());
        }
        Ok(client)
    }

    /// Returns a link that is open to read a list over, and whose it is.
    pub(crate) fn link_to_read(&self, asker: &Asker) -> Option<(Audience, Arc<Link>)> {
        self.links.to_read(&self.owner(asker), &asker.principal)
    }
}

/// Tells a server the level of log messages, without waiting for it. A server without a log refuses, which
/// does not matter.
pub(crate) fn set_level(link: &Arc<Link>, level: LogLevel) {
    let params = json!({ "level": level.name() });
    let told = link.client.request("logging/setLevel", params).timeout(TELLING);
    let told = told.answer();
    tokio::spawn(async move { drop(told.await) });
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code panics in the middle of a change, so a poisoned lock is still valid.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How long refused credentials are not tried again for another greeting.
const MOMENT: Duration = Duration::from_secs(10);
const TELLING: Duration = Duration::from_secs(30);
/// How many logins of principals are at hand before those that nobody uses are let go.
const MANY: usize = 1000;
