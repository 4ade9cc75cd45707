//! One remote server: brings calls and news to the part that they concern, and tells what follows for the caller.
//!
//! ```text
//!   first_connect  tries until it succeeds          list_checks  what the caller has seen of lists
//!   login          whether calls go out             catalogue    what is kept on disk
//!   hidden, manner which calls go out, and how      repeats      which are held back
//!   voice          what people are told
//! ```
//! What whoever serves the caller must do is an [`Effect`], to be carried out in order after every method.

mod calling;
mod describing;
mod logging_in;
mod way;

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use ridethrough::event::{Events, Seen};
use ridethrough::server::Server;
use ridethrough::{Client, Error};
use ridethrough_core::answer::words::harmless;
use ridethrough_core::{CallError, DoubtForm, Event, Identity};
use ridethrough_oauth::Account;
use ridethrough_wire::message::{Answer, Json};
use tokio::time::Instant;

use crate::catalogue::Catalogue;
use crate::fault::{self, Advice};
use crate::first_connect::FirstConnect;
use crate::gauge::{Ask, Snapshot, millis, short};
use crate::hidden::Hidden;
use crate::list_checks::{Checked, ListChecks};
use crate::lists::Fetched;
use crate::login::{Closing, LoginAdvice, LoginFlow, LoginNews, Purpose};
use crate::manner::Manner;
use crate::news::Detail;
use crate::repeats::Repeats;
use crate::voice::{Masker, Tell, Voice};

use describing::Described;
use way::CallsEnd;
pub use way::Ended;

/// One remote server, for one caller.
pub struct Upstream {
    client: Client,
    events: Events,
    first_connect: FirstConnect,
    login: Option<LoginFlow>,
    lists: ListChecks,
    kept: Option<Catalogue>,
    hidden: Hidden,
    manner: Manner,
    repeats: Repeats,
    voice: Voice,
    advice: Advice,
    calls_end: CallsEnd,
    /// The name that the caller gives itself.
    caller: String,
    described: Described,
    sessions: u64,
    is_stateless: bool,
    effects: VecDeque<Effect>,
    began: Instant,
}

/// What is set before there is an upstream.
pub struct Settings {
    /// The client of the server, which has not connected yet.
    pub client: Client,
    /// The tools that callers do not see.
    pub hidden: Hidden,
    /// How calls are made.
    pub manner: Manner,
    /// What was kept of the server.
    pub catalogue: Option<Catalogue>,
    /// The function that shows people a line.
    pub tell: Option<Tell>,
    /// How much they are shown.
    pub detail: Detail,
    /// The secrets that are masked in it.
    pub masker: Masker,
    /// What is added to errors.
    pub advice: Advice,
    login: Option<LoginFlow>,
}

/// What whoever serves the caller must do.
#[derive(Debug)]
pub enum Effect {
    /// Describe the upstream without it: it cannot be waited for.
    Absent,
    /// Tell the caller of this change of a list.
    ListChanged(&'static str),
    /// Tell the caller that the page of a login is over.
    PageOver(Closing),
    /// The upstream was reached; describe it, or [catch up](Upstream::catch_up).
    Reached,
    /// Refuse to describe the upstream, which refuses us.
    Refused(Answer),
    /// Show the caller's person a page, if the caller can be sent a request for it; and
    /// [say so](Upstream::page_sent).
    ShowPage {
        /// What the login is for.
        purpose: Purpose,
        /// The id of the request and of the page.
        id: String,
        /// The params of `elicitation/create`.
        page: Json,
    },
}

/// What has happened, to be [taken in](Upstream::take_in).
pub struct UpstreamNews(NewsKind);

enum NewsKind {
    Lists(Option<Checked>),
    Login(LoginNews),
    Reached(Result<(), Error>),
    ReminderDue,
    Seen(Seen),
}

impl Settings {
    /// Returns settings that hide nothing, keep nothing and tell people nothing.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            hidden: Hidden::default(),
            manner: Manner::default(),
            catalogue: None,
            tell: None,
            detail: Detail::default(),
            masker: Masker::default(),
            advice: Advice::default(),
            login: None,
        }
    }

    /// Lets people know when this account, which is that of the client, must be logged in to.
    pub fn account(&mut self, account: Account, advice: LoginAdvice) {
        self.masker.account = Some(account.clone());
        self.login = Some(LoginFlow::new(account, advice));
    }
}

impl Upstream {
    /// Creates an upstream that is not reached before it is [wanted](Self::reach).
    pub fn new(settings: Settings) -> Self {
        let Settings { client, hidden, manner, catalogue, tell, detail, masker, advice, login } =
            settings;
        let mut voice = Voice::new(tell, detail, masker);
        if let Some(why) = catalogue.as_ref().and_then(Catalogue::fault) {
            voice.say(&format!("the catalogue is ignored: {why}"));
        }
        let began = Instant::now();
        Self {
            events: client.events(),
            first_connect: FirstConnect::new(client.clone()),
            login,
            lists: ListChecks::default(),
            kept: catalogue,
            hidden,
            repeats: Repeats::new(manner.repeat, began),
            manner,
            voice,
            advice,
            calls_end: CallsEnd::default(),
            caller: String::new(),
            described: Described::No,
            sessions: 0,
            is_stateless: false,
            effects: VecDeque::new(),
            began,
            client,
        }
    }

    /// Returns the client.
    pub const fn client(&self) -> &Client {
        &self.client
    }

    /// Returns the secrets that no one else may read.
    pub const fn masker(&self) -> &Masker {
        self.voice.masker()
    }

    /// Returns what the upstream said of itself, once it was reached.
    pub const fn server(&self) -> Option<&Server> {
        self.first_connect.server()
    }

    /// Whether the upstream has no sessions, as far as it is known.
    pub const fn is_stateless(&self) -> bool {
        self.is_stateless
    }

    /// Whether the upstream is known to have sessions.
    pub const fn has_sessions(&self) -> bool {
        self.server().is_some() && !self.is_stateless
    }

    /// Says who calls, to the upstream too.
    pub fn introduce(&mut self, caller: Identity) {
        let name = caller.info.member("name").and_then(|name| name.read());
        self.caller = name.unwrap_or_default();
        self.client.set_identity(caller);
    }

    /// Begins to connect, unless it has begun, and stays connected.
    pub fn reach(&mut self) {
        self.first_connect.reach();
    }

    /// Shows people a line.
    pub fn say(&mut self, line: &str) {
        self.voice.say(line);
    }

    /// Returns the answer to a call that surely did not run.
    pub fn refusal(&self, error: &CallError) -> Answer {
        fault::answer(error, &self.advice)
    }

    /// Returns the form of a doubt about a request of which no more is known than what was asked.
    pub fn doubt_about(&self, method: &str, params: Option<&Json>) -> DoubtForm {
        self.manner.doubt_about(method, params)
    }

    /// Waits for what happens next; for a login only if the caller can be told of it. Nothing is lost if the future
    /// is dropped.
    pub async fn next(&mut self, can_tell: bool) -> UpstreamNews {
        let login = async {
            match &mut self.login {
                Some(login) => login.next().await,
                None => std::future::pending().await,
            }
        };
        UpstreamNews(tokio::select! {
            biased;
            reached = self.first_connect.next() => NewsKind::Reached(reached),
            news = login, if can_tell => NewsKind::Login(news),
            checked = self.lists.next() => NewsKind::Lists(checked),
            Some(seen) = self.events.next() => NewsKind::Seen(seen),
            () = self.voice.reminder() => NewsKind::ReminderDue,
        })
    }

    /// Takes in what has happened.
    pub fn take_in(&mut self, news: UpstreamNews) {
        match news.0 {
            NewsKind::Lists(None) => self.check_lists(),
            NewsKind::Lists(Some(checked)) => self.compare_lists(checked),
            NewsKind::Login(news) => self.login_news(news),
            NewsKind::Reached(Ok(())) => self.is_reached(),
            NewsKind::Reached(Err(error)) => self.is_not_reached(&error),
            NewsKind::ReminderDue => self.voice.remind(),
            NewsKind::Seen(seen) => self.watch(&seen),
        }
    }

    /// Returns the next thing to do for the caller.
    pub fn next_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// Answers a gauge. What is not known here is filled in by who stands in front.
    pub fn tell_gauge(&self, ask: Ask, fill: impl FnOnce(&mut Snapshot)) {
        let server = self.server().and_then(Server::name);
        let news = self.voice.news();
        let mut snapshot = Snapshot {
            host: (!self.caller.is_empty()).then(|| short(&self.caller)),
            server: server.as_deref().map(short),
            up_since_ms: millis(self.began.elapsed()),
            recoveries: news.recoveries(),
            lost_ms: millis(news.lost()),
            held_repeats: self.repeats.held(),
            login: self.login.as_ref().and_then(LoginFlow::snapshot),
            ..Snapshot::default()
        };
        fill(&mut snapshot);
        ask.answer(snapshot, self.sessions > 0, news.is_in_trouble());
    }

    /// Takes in an event of the link.
    fn watch(&mut self, seen: &Seen) {
        let (at, event) = match seen {
            Seen::Event { at, event } => (*at, event),
            // A missed event may have been one about lists.
            Seen::Missed(_) => return self.check_lists(),
        };
        self.voice.hear(event, at);
        match event {
            Event::SessionReady { version, .. } => {
                self.is_stateless = !version.era().has_sessions();
                self.sessions += 1;
                if self.sessions > 1 {
                    self.check_lists();
                }
            }
            Event::ListenerBack { gap } if *gap >= WORTH_A_LOOK => self.check_lists(),
            _ => {}
        }
    }

    /// Fetches the lists that the caller has seen, to compare them. While a login is needed that must wait.
    fn check_lists(&mut self) {
        let client = (!self.is_login_needed()).then_some(&self.client);
        self.lists.check(client);
    }

    fn compare_lists(&mut self, checked: Checked) {
        for (kind, fetched) in &checked {
            if let Fetched::Whole(elements) = fetched {
                self.keep(|it| it.keep_list(*kind, &kind.result(elements)));
            }
        }
        let (changed, is_due) = self.lists.compare(checked, &self.hidden);
        self.effects.extend(changed.into_iter().map(Effect::ListChanged));
        if is_due {
            self.check_lists();
        }
    }

    /// Keeps something for the next process. Tells people once that nothing can be kept, and goes on without.
    fn keep(&mut self, keep: impl FnOnce(&mut Catalogue) -> io::Result<()>) {
        if let Some(Err(error)) = self.kept.as_mut().map(keep) {
            let words =
                format!("what the upstream says of itself could not be kept on disk: {error}");
            self.voice.say(&harmless(&words));
            self.kept = None;
        }
    }
}

/// The shortest outage after which the lists are checked. Proxies cut streams every minute or so; a stream
/// that is reopened sooner than this has missed nothing worth a request.
const WORTH_A_LOOK: Duration = Duration::from_secs(2);
