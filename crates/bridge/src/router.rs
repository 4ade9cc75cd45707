//! The one loop of a bridge, which passes on everything that comes from either side.
//!
//! It never waits for one thing while another could go on. Requests of the host run side by side. What the
//! host does not read is bounded; at the bound nothing more is taken in. Notifications of the host that the
//! upstream does not take are bounded too (`notices`).

mod ending;
mod greet;
mod listening;
mod log_in;
mod look;
mod modern;
mod pass;
mod repeats;
mod watch;

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt};
use ridethrough::event::{Delivered, Events, Inbox, Seen};
use ridethrough::{Client, Era, Error};
use ridethrough_core::{QuestionId, RepeatGuard};
use ridethrough_wire::line_buffer::Line;
use ridethrough_wire::message::Message;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::task::coop::consume_budget;
use tokio::time::{Instant, sleep_until};

use crate::advice::Advice;
use crate::calls::{Calls, Finished};
use crate::catalogue::Catalogue;
use crate::gauge::Ask;
use crate::hidden::Hidden;
use crate::lines::Lines;
use crate::lists::{Fetched, Kind, Lists};
use crate::login::{LoginFlow, LoginNews};
use crate::manner::Manner;
use crate::masker::Masker;
use crate::news::{Detail, News};
use crate::notices::Notices;
use crate::outbox::Outbox;
use crate::upstream::Upstream;

use ending::Ending;
use greet::{Greeted, Greeting};
use modern::{Modern, OwnAnswer};

pub(crate) struct Router<W> {
    client: Client,
    inbox: Inbox,
    events: Events,
    outbox: Outbox<W>,
    calls: Calls,
    notices: Notices,
    /// Messages of the host that wait; the first is a notification for which there is no room.
    held: VecDeque<Message>,
    hold_until: Option<Instant>,

    upstream: Upstream,
    /// The name that the host gives itself.
    host: Option<String>,
    /// The era of the host, once it has sent a message.
    host_era: Option<Era>,
    has_initialized: bool,
    /// Whether the host may be sent requests: it has said that it is ready.
    is_ready: bool,
    /// Whether a host with a session can show a page to its person.
    can_show_pages: bool,
    modern: Modern,
    /// The upstream's questions that were sent to the host and have no answer.
    questions: BTreeSet<QuestionId>,
    /// The host's `initialize` or `server/discover` that has no answer yet.
    greeting: Option<Greeting>,
    greeted: Greeted,
    /// What people were last told about an upstream that cannot be connected to.
    refused: Option<String>,

    /// The login that the upstream may want, if there is an account.
    login: Option<LoginFlow>,
    /// Lists that were refused to the host because a login was needed.
    refused_lists: BTreeSet<Kind>,

    lists: Lists,
    /// The lists that the host has asked for, answered or not.
    asked: BTreeSet<Kind>,
    checking: Option<Checking>,
    /// Whether the lists must be checked again, because something happened during a check.
    is_check_due: bool,
    /// When to check again after a failed check; `failed_checks` counts them.
    check_again: Option<Instant>,
    failed_checks: u32,
    sessions: u64,
    /// Whether the upstream has no sessions.
    is_stateless: bool,
    /// Tools that people were told are left out of lists.
    dropped: BTreeSet<Arc<str>>,

    catalogue: Option<Catalogue>,
    hidden: Hidden,
    manner: Manner,
    /// What the host was told of calls that may have run.
    guard: RepeatGuard,
    held_repeats: u64,
    news: News,
    voice: Voice,
    advice: Advice,
    /// Questions of gauges.
    asks: mpsc::UnboundedReceiver<Ask>,
    began: Instant,
    /// How many inputs were handled since the last look at the other sources.
    in_a_row: usize,
    /// Whether the calls that are out must end.
    ending: Ending,
}

/// The settings of a router.
pub(crate) struct Settings {
    pub(crate) client: Client,
    pub(crate) hidden: Hidden,
    pub(crate) manner: Manner,
    pub(crate) catalogue: Option<Catalogue>,
    pub(crate) voice: Voice,
    pub(crate) advice: Advice,
    pub(crate) login: Option<LoginFlow>,
    asks: mpsc::UnboundedReceiver<Ask>,
}

impl Settings {
    /// Returns settings that hide nothing, keep nothing and tell people nothing.
    pub(crate) fn new(client: Client, asks: mpsc::UnboundedReceiver<Ask>) -> Self {
        let (hidden, manner) = (Hidden::default(), Manner::default());
        let (voice, advice) = (Voice::default(), Advice::default());
        Self { client, hidden, manner, catalogue: None, voice, advice, login: None, asks }
    }
}

/// A fetch of the upstream's lists that is under way.
type Checking = BoxFuture<'static, Vec<(Kind, Fetched)>>;
/// The function that shows people a line.
type Tell = Box<dyn FnMut(&str) + Send>;

/// The output for people: where it goes, and how much they are told.
#[derive(Default)]
pub(crate) struct Voice {
    pub(crate) tell: Option<Tell>,
    pub(crate) detail: Detail,
    /// The secrets that are masked in it.
    pub(crate) masker: Masker,
}

/// The input that the loop woke up for.
enum Woken {
    Asked(Ask),
    CheckDue,
    Checked(Vec<(Kind, Fetched)>),
    Delivered(Delivered),
    Finished(Finished),
    GreetingDue,
    HeldDue,
    Line(Option<Line>),
    Login(LoginNews),
    Noticed,
    OwnAnswer(OwnAnswer),
    Reached(Result<(), Error>),
    ReminderDue,
    RoundsDue,
    Seen(Seen),
    Written(io::Result<()>),
}

impl<W: AsyncWrite + Unpin> Router<W> {
    pub(crate) fn new(settings: Settings, writer: W) -> Self {
        let Settings { client, hidden, manner, catalogue, mut voice, advice, login, asks } =
            settings;
        if let Some(why) = catalogue.as_ref().and_then(Catalogue::fault) {
            voice.say(Some(&format!("the catalogue is ignored: {why}")));
        }
        Self {
            inbox: client.inbox(),
            events: client.events(),
            outbox: Outbox::new(writer, voice.masker.clone()),
            calls: Calls::default(),
            notices: Notices::default(),
            held: VecDeque::new(),
            hold_until: None,
            upstream: Upstream::new(client.clone()),
            host: None,
            host_era: None,
            has_initialized: false,
            is_ready: false,
            can_show_pages: false,
            login,
            refused_lists: BTreeSet::new(),
            modern: Modern::default(),
            questions: BTreeSet::new(),
            greeting: None,
            greeted: Greeted::No,
            refused: None,
            lists: Lists::default(),
            asked: BTreeSet::new(),
            checking: None,
            is_check_due: false,
            check_again: None,
            failed_checks: 0,
            sessions: 0,
            is_stateless: false,
            dropped: BTreeSet::new(),
            catalogue,
            hidden,
            manner,
            guard: RepeatGuard::default(),
            held_repeats: 0,
            news: News::new(voice.detail),
            voice,
            advice,
            asks,
            began: Instant::now(),
            in_a_row: 0,
            ending: Ending::default(),
            client,
        }
    }

    /// Serves the host until it closes its end; fails when the host reads no more.
    pub(crate) async fn serve<R: AsyncRead + Unpin>(
        &mut self,
        lines: &mut Lines<R>,
    ) -> io::Result<()> {
        loop {
            // A host that always has more to say must not keep other tasks from the thread.
            consume_budget().await;
            match self.wait(lines).await {
                Woken::Line(None) => return Ok(()),
                Woken::Written(Err(error)) => return Err(error),
                woken => self.handle(woken),
            }
        }
    }

    /// Waits for the next input. Progress comes before the answer it leads to; writing comes last, so that
    /// messages that arrive together are written together.
    async fn wait<R: AsyncRead + Unpin>(&mut self, lines: &mut Lines<R>) -> Woken {
        self.in_a_row += 1;
        if self.in_a_row.is_multiple_of(CROWD)
            && let Some(woken) = self.look_around(lines)
        {
            return woken;
        }
        let is_open = !self.outbox.is_full();
        // When the bridge ends, only the answers of open calls are left, and all of them must be written.
        let is_answering = is_open || self.ending.has_begun();
        let greet_by = self.greeting.as_ref().map(Greeting::by);
        let (remind_at, check_at) = (self.news.due(), self.check_again);
        let rounds_at = self.modern.rounds.due();
        let is_listening = is_open && self.held.is_empty();
        tokio::select! {
            biased;
            Some(delivered) = self.inbox.next(), if is_open => Woken::Delivered(delivered),
            Some(finished) = self.calls.next(), if is_answering && !self.calls.is_empty() => {
                Woken::Finished(finished)
            }
            Some(()) = self.notices.next() => Woken::Noticed,
            Some(answer) = self.modern.own_requests.next() => Woken::OwnAnswer(answer),
            line = lines.next(), if is_listening => Woken::Line(line),
            reached = self.upstream.next() => Woken::Reached(reached),
            news = login_news(&mut self.login), if is_open => Woken::Login(news),
            checked = over(&mut self.checking) => Woken::Checked(checked),
            Some(seen) = self.events.next() => Woken::Seen(seen),
            Some(ask) = self.asks.recv() => Woken::Asked(ask),
            () = at(self.hold_until) => Woken::HeldDue,
            () = at(greet_by) => Woken::GreetingDue,
            // A full outbox has room for rounds: each call is answered once before its host comes back, and a
            // call that is given up writes nothing.
            () = at(rounds_at) => Woken::RoundsDue,
            () = at(remind_at) => Woken::ReminderDue,
            () = at(check_at) => Woken::CheckDue,
            written = self.outbox.drive() => Woken::Written(written),
        }
    }

    /// Looks at one of the other sources first, each in turn, so that a source that always has input does not
    /// delay the others.
    fn look_around<R: AsyncRead + Unpin>(&mut self, lines: &mut Lines<R>) -> Option<Woken> {
        match self.in_a_row / CROWD % 11 {
            0 => self.outbox.drive().now_or_never().map(Woken::Written),
            1 => self.asks.try_recv().ok().map(Woken::Asked),
            2 => self.notices.next().now_or_never().flatten().map(|()| Woken::Noticed),
            3 => self.upstream.next().now_or_never().map(Woken::Reached),
            4 => self.events.next().now_or_never().flatten().map(Woken::Seen),
            5 => {
                let is_due = |greeting: &Greeting| greeting.by() <= Instant::now();
                self.greeting.as_ref().is_some_and(is_due).then_some(Woken::GreetingDue)
            }
            6 => self.modern.own_requests.next().now_or_never().flatten().map(Woken::OwnAnswer),
            7 => {
                let is_due = self.modern.rounds.due().is_some_and(|due| due <= Instant::now());
                is_due.then_some(Woken::RoundsDue)
            }
            _ if self.outbox.is_full() => None,
            8 => login_news(&mut self.login).now_or_never().map(Woken::Login),
            9 => self.calls.next().now_or_never().flatten().map(Woken::Finished),
            _ if !self.held.is_empty() => None,
            _ => lines.next().now_or_never().map(Woken::Line),
        }
    }

    fn handle(&mut self, woken: Woken) {
        match woken {
            Woken::Asked(ask) => self.tell_gauge(ask),
            Woken::CheckDue => self.check_lists(),
            Woken::Checked(fetched) => self.compare_lists(fetched),
            Woken::Delivered(delivered) => self.hand_over(delivered),
            Woken::Finished(finished) => self.finish(finished),
            Woken::GreetingDue => self.greet_without_upstream(),
            Woken::HeldDue | Woken::Noticed => self.take_held(),
            Woken::Line(Some(line)) => self.take_line(line),
            Woken::Login(news) => self.login_news(news),
            // `serve` handles these two before.
            Woken::Line(None) | Woken::Written(_) => {}
            Woken::OwnAnswer(answer) => self.own_request_is_answered(answer),
            Woken::Reached(Ok(())) => self.upstream_is_there(),
            Woken::Reached(Err(error)) => self.upstream_failed(&error),
            Woken::ReminderDue => {
                let line = self.news.remind(Instant::now());
                self.voice.say(line.as_deref());
            }
            Woken::RoundsDue => self.rounds_are_due(),
            Woken::Seen(seen) => self.watch(&seen),
        }
    }
}

impl Voice {
    /// Shows people a line, if there is one and a function to show it.
    fn say(&mut self, line: Option<&str>) {
        if let (Some(tell), Some(line)) = (&mut self.tell, line) {
            tell(&self.masker.secrets().masked(line));
        }
    }
}

/// Completes when the future does, and never if there is none.
async fn over<T>(future: &mut Option<BoxFuture<'static, T>>) -> T {
    match future {
        Some(running) => {
            let done = running.await;
            *future = None;
            done
        }
        None => std::future::pending().await,
    }
}

async fn login_news(login: &mut Option<LoginFlow>) -> LoginNews {
    match login {
        Some(login) => login.next().await,
        None => std::future::pending().await,
    }
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// How many inputs are handled before the other sources are looked at.
const CROWD: usize = 32;

#[cfg(test)]
mod tests;
