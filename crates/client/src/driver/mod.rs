//! The driver: the one task of a client, between the recovery machine and the network.
//!
//! It owns the link, hands it commands and news, and carries out its outputs. Attempts run inside this task,
//! side by side: none waits for another, and dropping the driver drops them all. The driver decides nothing.
//!
//! ```text
//!   clients ──commands─▶ ┌────────┐ ──outputs──▶ attempts ──▶ transport
//!                        │ driver │ ◀───news─────────┘
//!   callers ◀─outcomes── └────────┘ ──events──▶ observers
//! ```

mod attempt;
mod attempts;
mod callers;
mod calls;
mod command;
mod current_token;
mod deliver;
mod limits;
mod mailbox;
mod memory;
mod peers;
mod progress;
mod questions;
mod response_cache;
mod slept;

pub use callers::Track;
pub(crate) use callers::{CallNumber, Caller, Ended};
pub(crate) use command::{CommandReceiver, CommandSender, DriverCommand, InboxScope};
pub(crate) use limits::Limits;
pub(crate) use mailbox::{Mailbox, Post, mailbox};
pub(crate) use peers::Membership;
pub use peers::Peers;
pub(crate) use progress::{ProgressReader, Reporter, progress};
pub(crate) use response_cache::Accepts;

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use ridethrough_core::{Action, Link, Moment, NoticeId, Output, QuestionId, Status};
use ridethrough_transport::{Bounds, Clock, SleepWatch, Transport, TransportRequest};
use ridethrough_wire::message::Answer;
use tokio::sync::{mpsc, oneshot};
use tokio::task::coop::consume_budget;
use tokio::time::{Instant, Sleep};

use crate::cache::Cache;
use crate::handlers::Handlers;
use crate::model::Root;
use crate::observe::Observers;
use ridethrough_transport::credentials::Credentials;

use attempt::{AttemptNews, Order};
use attempts::Attempts;
use callers::Callers;
use current_token::{CurrentToken, Renewed, TokenChange};
use memory::Memory;
use questions::Questions;
use response_cache::ResponseCache;

/// The parts that a driver is made of.
pub(crate) struct Parts {
    pub(crate) link: Link,
    pub(crate) clock: Clock,
    pub(crate) sleep: SleepWatch,
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) credentials: Option<Arc<dyn Credentials>>,
    pub(crate) handlers: Handlers,
    pub(crate) observers: Observers,
    pub(crate) limits: Limits,
    pub(crate) cache: Cache,
    pub(crate) commands: CommandReceiver,
    /// Its place among the clients of one server, if it has one.
    pub(crate) membership: Option<Membership>,
}

/// Runs one link for as long as a client holds it.
pub(crate) struct Driver {
    link: Link,
    clock: Clock,
    sleep: SleepWatch,
    /// When the driver last checked whether the computer slept.
    looked: Instant,
    /// The transport; `None`, with its connections closed, once the link is closed.
    transport: Option<Arc<dyn Transport>>,
    token: CurrentToken,
    observers: Observers,
    commands: CommandReceiver,
    membership: Option<Membership>,

    attempts: Attempts,
    callers: Callers,
    notices: BTreeMap<NoticeId, command::NoticeReply>,
    closers: Vec<oneshot::Sender<()>>,
    /// Channels that end when the link is closed, for code that follows tasks.
    followers: Vec<oneshot::Sender<()>>,
    questions: Questions,
    inbox: Option<Mailbox>,
    listeners: Vec<Mailbox>,
    cache: ResponseCache,
    limits: Limits,
    capacity: Option<usize>,
    is_closed: bool,
}

/// What the driver woke up for.
enum Woken {
    Answer((QuestionId, Answer)),
    News,
    Renewal(Renewed),
    Time,
    DriverCommand(Option<Box<DriverCommand>>),
}

impl Driver {
    pub(crate) fn new(parts: Parts) -> Self {
        Self {
            link: parts.link,
            clock: parts.clock,
            sleep: parts.sleep,
            looked: Instant::now(),
            transport: Some(parts.transport),
            token: CurrentToken::new(parts.credentials),
            observers: parts.observers,
            commands: parts.commands,
            membership: parts.membership,
            attempts: Attempts::new(parts.limits, Memory::new(parts.limits)),
            callers: Callers::default(),
            notices: BTreeMap::new(),
            closers: Vec::new(),
            followers: Vec::new(),
            questions: Questions::new(parts.handlers, parts.limits.link),
            inbox: None,
            listeners: Vec::new(),
            cache: ResponseCache::new(parts.cache),
            limits: parts.limits,
            capacity: None,
            is_closed: false,
        }
    }

    /// Runs until the last client is dropped. The driver is boxed, because a task that is given one by value
    /// keeps room for two.
    pub(crate) async fn run(mut self: Box<Self>) {
        if self.token.has_hook() {
            self.link.await_first_credentials();
        }
        let mut alarm = Box::pin(tokio::time::sleep_until(Instant::now()));
        loop {
            self.carry_out();
            match self.wait(alarm.as_mut()).await {
                Woken::Answer((question, answer)) => {
                    self.link.answer(self.clock.now(), question, &answer);
                }
                Woken::News => self.take_in_news(),
                Woken::Renewal(renewed) => self.take_in_renewal(renewed),
                Woken::Time => {}
                Woken::DriverCommand(Some(command)) => self.grant(*command),
                Woken::DriverCommand(None) => return,
            }
            // News is handled first; commands and timers follow after each round, so that a server that
            // floods the client delays neither callers nor deadlines.
            for _ in 0..WISHES_AT_ONCE {
                match self.commands.try_recv() {
                    Ok(command) => self.grant(*command),
                    Err(mpsc::error::TryRecvError::Empty) => break,
                    Err(mpsc::error::TryRecvError::Disconnected) => return,
                }
            }
            self.look_for_sleep();
            self.link.handle_timeout(self.clock.now());
            // A transport that always has more news must not keep the thread from other tasks.
            consume_budget().await;
        }
    }

    /// Waits for whatever comes first. The order of the branches is fixed, so that equal inputs give equal
    /// runs.
    async fn wait(&mut self, mut alarm: Pin<&mut Sleep>) -> Woken {
        let due = self.link.poll_timeout().map(|(at, _)| self.clock.instant(at));
        let look = (!self.attempts.is_empty()).then_some(self.looked + LOOK_EVERY);
        let due = due.into_iter().chain(look).min();
        if let Some(due) = due
            && alarm.deadline() != due
        {
            alarm.as_mut().reset(due);
        }
        let Self { attempts, token, questions, .. } = self;
        tokio::select! {
            biased;
            // These two are limited in number, while news may come without end.
            renewed = poll_fn(|context| token.poll_renewed(context)) => Woken::Renewal(renewed),
            answer = poll_fn(|context| questions.poll_answer(context)) => Woken::Answer(answer),
            () = poll_fn(|context| attempts.poll_news(context)) => Woken::News,
            command = self.commands.recv() => Woken::DriverCommand(command),
            () = alarm, if due.is_some() => Woken::Time,
        }
    }

    fn carry_out(&mut self) {
        while let Some(output) = self.link.poll_output() {
            match output {
                Output::Act(action) => self.act(action),
                Output::Deliver(delivered) => self.deliver(delivered),
                Output::Finish { exchange, outcome, lifetime } => {
                    self.finish(exchange, outcome, lifetime);
                }
                Output::Noticed { notice, outcome } => {
                    if let Some(reply) = self.notices.remove(&notice) {
                        // The caller may be gone, and then needs no answer.
                        let _ = reply.send(outcome);
                    }
                }
                Output::Share(news) => {
                    if let Some(membership) = &self.membership {
                        membership.tell(news);
                    }
                }
                Output::Tell(event) => {
                    self.cache.happened(&event);
                    self.observers.tell(self.clock.now(), event);
                }
            }
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Abort { attempt } => self.attempts.order(attempt, Order::Abort),
            Action::Closed => {
                self.is_closed = true;
                // Callers, readers and observers learn of the closing from the end of their channels.
                self.token.finish(std::mem::take(&mut self.closers));
                self.followers.clear();
                self.transport = None;
                self.inbox = None;
                self.listeners.clear();
                self.observers.dismiss();
            }
            Action::Dial { attempt } => {
                if let Some(transport) = &self.transport {
                    self.attempts.begin_connect(attempt, transport.clone());
                }
            }
            Action::Drain { attempt, within, bytes } => {
                self.attempts.order(attempt, Order::Drain(Bounds { within, bytes }));
            }
            Action::Recall { attempt } => self.attempts.recall(attempt),
            Action::RenewCredentials { rejected, challenge, is_suspicion } => {
                self.token.renew(rejected, challenge, is_suspicion);
            }
            Action::RequestScope { challenge } => self.token.request_scope(challenge),
            Action::Send(outgoing) => {
                let attempt = outgoing.attempt;
                let (token, recall) = (self.token.token(), self.attempts.recall_of(attempt));
                let request = TransportRequest::Request { outgoing, token, recall };
                if let Some(transport) = &self.transport {
                    self.attempts.begin(attempt, transport.clone(), request);
                }
            }
        }
    }

    fn take_in_news(&mut self) {
        while let Some((attempt, news)) = self.attempts.next_news() {
            let now = self.clock.now();
            match news {
                AttemptNews::Answered(head, capacity) => {
                    self.take_in_capacity(now, capacity);
                    self.link.handle_head(now, attempt, head);
                }
                AttemptNews::Body(body) => self.link.handle_body(now, attempt, &body),
                AttemptNews::Bytes => self.link.handle_bytes(now, attempt),
                AttemptNews::Connected(result) => self.link.handle_connect(now, attempt, result),
                AttemptNews::End => self.link.handle_end(now, attempt),
                AttemptNews::Event(event) => self.link.handle_event(now, attempt, &event),
                AttemptNews::Failed(failure) => self.link.handle_failure(now, attempt, failure),
            }
            self.carry_out();
        }
    }

    fn take_in_capacity(&mut self, now: Moment, capacity: Option<usize>) {
        if self.capacity != capacity {
            self.capacity = capacity;
            self.link.handle_capacity(now, capacity.unwrap_or(usize::MAX));
        }
    }

    fn take_in_renewal(&mut self, renewed: Renewed) {
        let result = renewed.token.map(|token| {
            if let Some(token) = &token {
                self.link.secrets().keep(token.exposed());
            }
            if self.token.keep(token) == TokenChange::Another {
                self.cache.credentials_changed();
            }
        });
        renewed.question.answer(&mut self.link, self.clock.now(), result);
    }

    fn grant(&mut self, command: DriverCommand) {
        let now = self.clock.now();
        match command {
            DriverCommand::Answer { question, answer } => self.link.answer(now, question, &answer),
            DriverCommand::Cancel(call) => {
                if let Some(exchange) = self.callers.exchange(call) {
                    self.link.cancel(now, exchange);
                }
            }
            DriverCommand::Close(_) if self.is_closed => {}
            DriverCommand::Close(closer) => {
                self.cache.close();
                self.closers.push(closer);
                self.link.close(now);
            }
            DriverCommand::Connect { caller, deadline } => {
                let exchange = self.link.connect(now, deadline);
                self.callers.insert(exchange, caller);
            }
            DriverCommand::Follow(follower) => self.take_follower(follower),
            DriverCommand::Forget { method } => self.cache.forget_method(&method),
            DriverCommand::Handler { method, params, reply } => {
                // The caller may be gone, and then needs no answer.
                let _ = reply.send(self.questions.answering(&method, params));
            }
            DriverCommand::Inbox(inbox, scope) => {
                self.inbox = Some(inbox).filter(|_| !self.is_closed);
                if scope == InboxScope::Everything {
                    self.link.listen(now);
                }
            }
            DriverCommand::KeepConnected => self.link.keep_connected(now),
            DriverCommand::Listen(listener) if self.is_closed => drop(listener),
            DriverCommand::Listen(listener) => {
                // If the server is silent, nothing else removes the readers that are gone.
                self.listeners.retain(Mailbox::is_read);
                self.listeners.push(listener);
                self.link.listen(now);
            }
            DriverCommand::Notify { method, params, reply } => {
                let notice = self.link.notify(now, method, params.as_ref());
                self.notices.insert(notice, reply);
            }
            DriverCommand::Peer(news) => self.link.handle_peer(self.clock.now(), news),
            DriverCommand::PreferEra(era) => self.link.prefer_era(era),
            DriverCommand::Send { caller, request, accepts } => {
                self.send(now, caller, request, accepts)
            }
            DriverCommand::SetIdentity(identity) => {
                // A server's lists may depend on the client's capabilities.
                self.cache.forget_all();
                self.link.set_identity(identity);
            }
            DriverCommand::SetRoots(roots) => self.set_roots(now, &roots),
            DriverCommand::Status(reply) => self.tell_status(reply),
        }
        self.carry_out();
    }

    /// Keeps a channel that ends when the link is closed; on a closed link it is dropped at once.
    fn take_follower(&mut self, follower: oneshot::Sender<()>) {
        self.followers.retain(|follower| !follower.is_closed());
        if !self.is_closed {
            self.followers.push(follower);
        }
    }

    fn tell_status(&self, reply: oneshot::Sender<Status>) {
        // The caller may be gone, and then needs no answer.
        let _ = reply.send(self.link.status(self.clock.now()));
    }

    /// Replaces the roots, and notifies a server with a session. A session that is about to begin asks for
    /// the roots by itself.
    fn set_roots(&mut self, now: Moment, roots: &[Root]) {
        self.questions.set_roots(roots);
        let status = self.link.status(now);
        // A stateless server asks for them with each call that needs them.
        if status.generation.is_some() && status.era.has_sessions() {
            self.link.notify(now, "notifications/roots/list_changed", None);
        }
    }
}

/// How often the driver checks for a sleep of the computer: soon enough for a person who opens a laptop,
/// seldom enough to cost nothing.
const LOOK_EVERY: Duration = Duration::from_secs(3);
/// How many commands are handled in one round, so that many callers at once delay no deadline.
const WISHES_AT_ONCE: usize = 64;
