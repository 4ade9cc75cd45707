//! A client of one server, and the conversations that use it.
//!
//! Which conversation a message of the server goes to is in [`routing`].

mod routing;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures_util::future::FutureExt;
use ridethrough::Client;
use ridethrough::call::Track;
use ridethrough::event::{Answer, Delivered, Inbox, QuestionId};
use ridethrough_server::{Aside, Presence, Principal};
use ridethrough_wire::message::{Json, ListKind};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

use super::bulkhead::Place;
use crate::logins::PrincipalLogin;

/// A link to a server.
pub(crate) struct Link {
    pub(crate) client: Client,
    pub(crate) server: Arc<str>,
    /// For whom it was opened.
    pub(crate) principal: Principal,
    /// The login of that principal, if each has its own. It stays at hand as long as the link is open.
    _login: Option<Arc<PrincipalLogin>>,
    /// Whether all principals use it.
    is_for_all: bool,
    users: Mutex<Users>,
    orders: mpsc::UnboundedSender<Box<LinkOrder>>,
    /// Places for notifications that are on their way to the server.
    notification_places: Arc<Semaphore>,
    /// Says whether the client is there that the link belongs to; `None` if it is shared.
    presence: Option<Presence>,
    _place: LinkPlace,
}

/// A message of a server for one conversation.
pub(crate) struct FromServer {
    pub(crate) link: Arc<Link>,
    pub(crate) delivered: Delivered,
    /// The call that it belongs to.
    pub(crate) call: Option<Aside>,
}

/// The way of messages to a conversation. They are boxed, because a channel makes room for 32 at once.
pub(crate) type MessageSender = mpsc::Sender<Box<FromServer>>;
pub(crate) type Messages = mpsc::Receiver<Box<FromServer>>;

/// What happens to a link as a whole.
pub(crate) trait Listener: Send + Sync + 'static {
    /// The server says that a list has changed.
    fn list_changed(&self, link: &Arc<Link>, kind: ListKind);

    /// The link was not used for a while. Whoever holds it lets go of it.
    fn idle(&self, link: &Arc<Link>);
}

/// How a link is opened.
pub(crate) struct LinkSettings {
    pub(crate) server: Arc<str>,
    pub(crate) principal: Principal,
    pub(crate) login: Option<Arc<PrincipalLogin>>,
    pub(crate) place: LinkPlace,
    /// How long it may be unused; `None` if it belongs to one conversation, and lives as long.
    pub(crate) idle: Option<Duration>,
    /// Says whether the client is there that it belongs to; `None` if it is shared.
    pub(crate) presence: Option<Presence>,
    /// Whether all principals use it.
    pub(crate) is_for_all: bool,
}

/// A place among the links that may be open, and one for a process if it needs one. They are free again when this
/// is dropped.
pub(crate) struct LinkPlace {
    _link: OwnedSemaphorePermit,
    _child: Option<OwnedSemaphorePermit>,
}

struct Users {
    conversations: BTreeMap<u64, MessageSender>,
    calls: BTreeMap<u64, LinkCall>,
    /// The calls whose callers were asked something, by the question.
    questions: BTreeMap<QuestionId, u64>,
    /// Which conversation wants to hear of which resource.
    subscriptions: BTreeSet<(String, u64)>,
    /// Which conversation has begun, or asked about, which task.
    tasks: BTreeSet<(String, u64)>,
    /// Which conversation was shown which page.
    pages: BTreeSet<(String, u64)>,
    next: u64,
    last_use: Instant,
}

/// A call that is under way.
struct LinkCall {
    track: Track,
    conversation: u64,
    aside: Option<Aside>,
    place: Arc<Place>,
}

/// What the task of a link is asked to do.
enum LinkOrder {
    /// Answer a question of the server.
    Answer(QuestionId, Answer),
    /// Say when everything that the server has said so far is passed on.
    Settle(oneshot::Sender<()>),
}

/// Keeps a call known until it is dropped.
pub(crate) struct KnownCall<'a> {
    link: &'a Link,
    number: u64,
}

impl Link {
    /// Opens a link, and begins to listen.
    pub(crate) fn open(
        client: Client,
        settings: LinkSettings,
        listener: impl Listener,
    ) -> Arc<Self> {
        let LinkSettings { server, principal, login, place, idle, presence, is_for_all } = settings;
        let (orders, given) = mpsc::unbounded_channel();
        let users = Users {
            conversations: BTreeMap::new(),
            calls: BTreeMap::new(),
            questions: BTreeMap::new(),
            subscriptions: BTreeSet::new(),
            tasks: BTreeSet::new(),
            pages: BTreeSet::new(),
            next: 0,
            last_use: Instant::now(),
        };
        let inbox = client.inbox();
        let users = Mutex::new(users);
        let link = Arc::new(Self {
            client,
            server,
            principal,
            _login: login,
            is_for_all,
            users,
            orders,
            notification_places: Arc::new(Semaphore::new(MOST_NOTIFICATIONS)),
            presence,
            _place: place,
        });
        tokio::spawn(listen(Arc::downgrade(&link), inbox, given, idle, listener));
        link
    }

    /// Lets a conversation use the link.
    pub(crate) fn attach(&self, conversation: u64, mailbox: &MessageSender) {
        let mut users = self.users();
        users.last_use = Instant::now();
        users.conversations.entry(conversation).or_insert_with(|| mailbox.clone());
    }

    pub(crate) fn detach(&self, conversation: u64) {
        let mut users = self.users();
        users.conversations.remove(&conversation);
        users.subscriptions.retain(|(_, it)| *it != conversation);
        users.tasks.retain(|(_, it)| *it != conversation);
        users.pages.retain(|(_, it)| *it != conversation);
    }

    /// Records that a task is of a conversation, which then hears of it. No other does.
    pub(crate) fn follow_task(&self, conversation: u64, id: &str) {
        follow(&mut self.users().tasks, conversation, id);
    }

    /// Records that a conversation is shown a page, and then hears when the person is done there.
    pub(crate) fn follow_page(&self, conversation: u64, id: &str) {
        follow(&mut self.users().pages, conversation, id);
    }

    /// Records that a conversation wants to hear of a resource.
    pub(crate) fn subscribe(&self, conversation: u64, uri: &str) {
        self.users().subscriptions.insert((uri.to_owned(), conversation));
    }

    /// Records that a conversation does not want to hear of a resource any more. Returns whether another does.
    pub(crate) fn unsubscribe(&self, conversation: u64, uri: &str) -> bool {
        let mut users = self.users();
        users.subscriptions.remove(&(uri.to_owned(), conversation));
        users.subscriptions.iter().any(|(it, _)| it == uri)
    }

    pub(crate) fn is_used_by(&self, conversation: u64) -> bool {
        self.users().conversations.contains_key(&conversation)
    }

    /// Makes a call of a conversation known, so that what belongs to it finds its way.
    pub(crate) fn know(
        &self,
        track: Track,
        conversation: u64,
        aside: Option<Aside>,
        place: Arc<Place>,
    ) -> KnownCall<'_> {
        let mut users = self.users();
        users.next += 1;
        users.last_use = Instant::now();
        let number = users.next;
        users.calls.insert(number, LinkCall { track, conversation, aside, place });
        KnownCall { link: self, number }
    }

    /// Tells the server something, without waiting for it. One that takes nothing loses what comes: nobody waits
    /// for it, and a server that was away asks again when it is back.
    pub(crate) fn notify(&self, method: &str, params: Option<Json>) {
        let Ok(place) = self.notification_places.clone().try_acquire_owned() else { return };
        let (client, method) = (self.client.clone(), method.to_owned());
        tokio::spawn(async move {
            drop(client.notify(method, params).await);
            drop(place);
        });
    }

    /// Answers a question of the server, as soon as its call has a place again.
    pub(crate) fn answer(&self, question: QuestionId, answer: Answer) {
        let orders = self.orders.clone();
        self.when_placed(question, move || {
            // A link whose task has ended has no server that waits.
            let _ = orders.send(Box::new(LinkOrder::Answer(question, answer)));
        });
    }

    /// Gives the call of a question its place back, and then does this.
    fn when_placed(&self, question: QuestionId, then: impl FnOnce() + Send + 'static) {
        let place = {
            let mut users = self.users();
            let call = users.questions.remove(&question);
            call.and_then(|call| users.calls.get(&call)).map(|call| call.place.clone())
        };
        let Some(place) = place else { return then() };
        let mut placed = async move { place.question_answered().await }.boxed();
        match placed.as_mut().now_or_never() {
            Some(()) => then(),
            None => drop(tokio::spawn(placed.map(|()| then()))),
        }
    }

    /// Waits until everything that the server has said so far is passed on, so that the progress of a call
    /// comes before its answer.
    pub(crate) async fn settle(&self) {
        let (done, settled) = oneshot::channel();
        // A link whose task has ended has passed everything on.
        if self.orders.send(Box::new(LinkOrder::Settle(done))).is_ok() {
            let _ = settled.await;
        }
    }

    /// When the link will have been unused for so long.
    fn idle_at(&self, idle: Duration) -> Instant {
        let users = self.users();
        let is_used = !users.calls.is_empty() || !users.subscriptions.is_empty();
        if is_used { Instant::now() + idle } else { users.last_use + idle }
    }

    /// Returns since when a link that belongs to one client is unused; `None` if the client is there, or if the
    /// server does or keeps something for it.
    pub(super) fn unused_since(&self) -> Option<Instant> {
        let is_left = self.presence.as_ref().is_some_and(|it| !it.is_here());
        let users = self.users();
        let is_used = !users.calls.is_empty()
            || !users.subscriptions.is_empty()
            || !users.tasks.is_empty()
            || !users.pages.is_empty();
        (is_left && !is_used).then_some(users.last_use)
    }

    fn users(&self) -> MutexGuard<'_, Users> {
        // No code panics in the middle of a change, so a poisoned lock is still valid.
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LinkPlace {
    pub(super) const fn new(
        link: OwnedSemaphorePermit,
        child: Option<OwnedSemaphorePermit>,
    ) -> Self {
        Self { _link: link, _child: child }
    }
}

impl Drop for KnownCall<'_> {
    fn drop(&mut self) {
        let mut users = self.link.users();
        users.calls.remove(&self.number);
        users.questions.retain(|_, call| *call != self.number);
        users.last_use = Instant::now();
    }
}

/// Reads what the server says until the client is closed or gone. It keeps the link alive no longer than
/// others do.
async fn listen(
    link: Weak<Link>,
    mut inbox: Inbox,
    mut orders: mpsc::UnboundedReceiver<Box<LinkOrder>>,
    idle: Option<Duration>,
    listener: impl Listener,
) {
    let is_due = |idle: Duration| link.upgrade().map(|link| link.idle_at(idle));
    let mut due = idle.and_then(is_due);
    loop {
        tokio::select! {
            biased;
            // Before the inbox, which a server may fill without end.
            Some(order) = orders.recv() => match *order {
                LinkOrder::Answer(question, answer) => inbox.answer(question, answer),
                LinkOrder::Settle(done) => {
                    for _ in 0..MOST_SETTLED {
                        let Some(Some(delivered)) = inbox.next().now_or_never() else { break };
                        let Some(link) = link.upgrade() else { return };
                        link.hear(delivered, &listener);
                    }
                    // Whoever waits may be gone.
                    let _ = done.send(());
                }
            },
            delivered = inbox.next() => {
                let (Some(delivered), Some(link)) = (delivered, link.upgrade()) else { return };
                link.hear(delivered, &listener);
            }
            () = at(due) => {
                due = idle.and_then(is_due);
                if due.is_none_or(|due| due <= Instant::now())
                    && let Some(link) = link.upgrade()
                {
                    listener.idle(&link);
                    due = None;
                }
            }
        }
        // Many small messages may be there at once.
        tokio::task::consume_budget().await;
    }
}

fn follow(followed: &mut BTreeSet<(String, u64)>, conversation: u64, id: &str) {
    if followed.len() >= MOST_FOLLOWED {
        // The oldest are not known, and any of them can be asked about at any time.
        followed.pop_first();
    }
    followed.insert((id.to_owned(), conversation));
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// The most tasks, and the most pages, of one link that conversations hear of.
const MOST_FOLLOWED: usize = 1000;
/// The most notifications that are on their way to a server.
const MOST_NOTIFICATIONS: usize = 32;
/// The most messages that are passed on before an answer that waits for them. No conversation keeps more.
const MOST_SETTLED: usize = 1000;
