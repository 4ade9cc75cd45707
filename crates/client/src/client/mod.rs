//! The client: the handle that an application holds.
//!
//! It is cheap to clone, and all clones use one link. When the last clone is dropped, calls, streams and
//! connections end with it. Only [`Client::close`] also deletes the session at the server.

mod call;
mod inbox;
mod list;
mod methods;
mod notifications;
mod pending;
mod progress;
mod server;
mod task;

pub use call::Call;
pub use inbox::Inbox;
pub use list::{List, Page};
pub use notifications::Notifications;
pub use pending::Pending;
pub use progress::ProgressStream;
pub use server::Server;
pub(crate) use task::Tasks;
pub use task::{Begun, PendingResult, PendingSourced, Task, TaskCall, TaskWait};

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ridethrough_core::CallName;
use ridethrough_core::{CallError, Delivery, Era, Identity, Kind, Reason, Rule, Status};
use ridethrough_wire::message::Json;
use tokio::sync::oneshot;

use crate::driver::{CallNumber, Caller, CommandSender, DriverCommand, InboxScope, mailbox};
use crate::error::{Error, result};
use crate::model::Root;
use crate::observe::{Events, Lookout};

/// A client of one MCP server.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let client = ridethrough::Client::new("https://example.com/mcp")?;
/// for tool in client.tools().await? {
///     println!("{}", tool.name);
/// }
/// let result = client.call_tool("echo", serde_json::json!({ "text": "hello" })).await?;
/// println!("{}", result.text());
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Client {
    commands: CommandSender,
    lookout: Lookout,
    calls: Arc<AtomicU64>,
    /// How tasks are followed, if the client has declared to the server that it does.
    tasks: Option<Tasks>,
}

impl Client {
    pub(crate) fn from_parts(
        commands: CommandSender,
        lookout: Lookout,
        tasks: Option<Tasks>,
    ) -> Self {
        Self { commands, lookout, calls: Arc::default(), tasks }
    }

    /// Sends a request in JSON; [`call_tool`](Self::call_tool) and the other typed methods are based on this
    /// one. The call begins when it is awaited and is cancelled when it is dropped.
    ///
    /// Params and result pass through byte for byte: unknown fields, big integers and the spelling of numbers
    /// are kept. A `progressToken` of the caller's own in `_meta` is replaced on the wire, because a call may
    /// be sent twice, and restored in the notifications that the caller gets.
    ///
    /// A list or a read that the server allowed to keep is answered from the cache, unless the call is
    /// [`fresh`](Call::fresh): see [`Cache`](crate::policy::Cache).
    pub fn request(&self, method: impl Into<Arc<str>>, params: impl Into<Params>) -> Call {
        Call::new(self.clone(), method.into(), params.into(), Ok)
    }

    /// Sends a notification. Returns when the server has accepted it, or fails with the end of the policy's
    /// patience (30 s). Dropping the future does not cancel the message.
    pub async fn notify(
        &self,
        method: impl Into<Arc<str>>,
        params: impl Into<Params>,
    ) -> Result<(), CallError> {
        let method = method.into();
        let (reply, told) = oneshot::channel();
        let params = params.into().0;
        self.command(DriverCommand::Notify { method: method.clone(), params, reply });
        told.await.unwrap_or_else(|_| Err(gone(method)))
    }

    /// Connects now instead of with the first call, and returns the server's description of itself. Takes at
    /// most the policy's deadline (60 s). If a session is in force, returns the description that it began
    /// with.
    ///
    /// ```no_run
    /// # async fn example(client: ridethrough::Client) -> Result<(), ridethrough::Error> {
    /// let server = client.connect().await?;
    /// println!("{} speaks {}", server.name().unwrap_or_default(), server.version);
    /// if server.can("prompts") {
    ///     println!("{} prompts", client.prompts().await?.len());
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn connect(&self) -> Result<Server, Error> {
        Server::read(result(self.handshake(None).await)?)
    }

    /// Connects like [`connect`](Self::connect), within this time.
    pub async fn connect_within(&self, time: Duration) -> Result<Server, Error> {
        Server::read(result(self.handshake(Some(time)).await)?)
    }

    /// Connects, and returns the unread answer to the handshake.
    pub(crate) fn handshake(&self, deadline: Option<Duration>) -> Pending {
        let (reply, outcome) = oneshot::channel();
        let caller = Caller { number: self.next_call(), reply, progress: None, track: None };
        let pending = Pending::new(self.clone(), "initialize".into(), caller.number, outcome, None);
        self.command(DriverCommand::Connect { caller, deadline });
        pending
    }

    /// Keeps the link connected while no call waits, for a bridge or an application that depends on the
    /// server's notifications.
    pub fn keep_connected(&self) {
        self.command(DriverCommand::KeepConnected);
    }

    /// Replaces the client's identity from the next handshake on: the first, or one after a lost session. A
    /// stateless server gets it with every request, and so from the next one on. Both parts must be JSON
    /// objects.
    pub fn set_identity(&self, identity: Identity) {
        self.command(DriverCommand::SetIdentity(identity));
    }

    /// Sets the era to use with a server that speaks both, from the next handshake on: see
    /// [`ClientBuilder::prefer_era`](crate::ClientBuilder::prefer_era).
    pub fn prefer_era(&self, era: Era) {
        self.command(DriverCommand::PreferEra(era));
    }

    /// Replaces the roots that the server may work in, and notifies the server. It asks for them only if
    /// [`ClientBuilder::roots`](crate::ClientBuilder::roots) declared that there are any.
    pub fn set_roots(&self, roots: impl IntoIterator<Item = Root>) {
        self.command(DriverCommand::SetRoots(roots.into_iter().collect()));
    }

    /// Returns a stream of the server's notifications from now on. Each such stream gets all of them.
    ///
    /// Notifications that belong to no call arrive only over a link that is up: see
    /// [`connect`](Self::connect) and [`keep_connected`](Self::keep_connected).
    pub fn notifications(&self) -> Notifications {
        let (mailbox, post) = mailbox();
        self.command(DriverCommand::Listen(mailbox));
        Notifications::new(post)
    }

    /// Returns the server's messages from now on, as raw JSON; an earlier inbox ends. Requests that have a
    /// handler do not come here.
    ///
    /// Without an inbox, requests that have no handler are answered with "method not found".
    pub fn inbox(&self) -> Inbox {
        self.inbox_of(InboxScope::Everything)
    }

    /// Returns the server's messages from now on, as [`inbox`](Self::inbox) does, but listens to a stateless
    /// server only where something else asks for it. This is for programs that speak for a client that
    /// subscribes itself.
    pub fn inbox_of_calls(&self) -> Inbox {
        self.inbox_of(InboxScope::Calls)
    }

    fn inbox_of(&self, scope: InboxScope) -> Inbox {
        let (mailbox, post) = mailbox();
        self.command(DriverCommand::Inbox(mailbox, scope));
        Inbox::new(post, &self.commands)
    }

    /// Returns a stream of the events that operators need, from now on.
    pub fn events(&self) -> Events {
        self.lookout.watch()
    }

    /// Returns a snapshot of the link; `None` if its runtime has been shut down.
    pub async fn status(&self) -> Option<Status> {
        let (reply, status) = oneshot::channel();
        self.command(DriverCommand::Status(reply));
        status.await.ok()
    }

    /// Ends every call, deletes the session and closes the link, within 5 s. Streams of the inbox and of
    /// events end. Credentials may finish a refresh that is under way, within 15 s more.
    pub async fn close(&self) {
        let (reply, closed) = oneshot::channel();
        self.command(DriverCommand::Close(reply));
        // The driver drops the sender if the link is closed already.
        let _ = closed.await;
    }

    fn command(&self, command: DriverCommand) {
        // A driver that is gone drops the command, and the reply's sender with it: the waiting caller learns
        // it from that.
        let _ = self.commands.send(Box::new(command));
    }

    fn next_call(&self) -> CallNumber {
        CallNumber(self.calls.fetch_add(1, Ordering::Relaxed))
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

/// The params of a request or notification: none, or JSON that is sent as it is.
#[derive(Clone, Debug, Default)]
pub struct Params(pub(crate) Option<Json>);

impl Params {
    /// Serializes a value as params; `null` means none.
    pub fn of(value: &impl serde::Serialize) -> Result<Self, serde_json::Error> {
        Json::of(value).map(|json| Self(Some(json).filter(|json| json.as_str() != "null")))
    }
}

impl From<()> for Params {
    fn from((): ()) -> Self {
        Self(None)
    }
}

impl From<Json> for Params {
    fn from(json: Json) -> Self {
        Self(Some(json))
    }
}

impl From<Option<Json>> for Params {
    fn from(json: Option<Json>) -> Self {
        Self(json)
    }
}

impl From<serde_json::Value> for Params {
    fn from(value: serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Self(None),
            value => Self(Some(Json::of(&value).expect("a value is JSON already"))),
        }
    }
}

/// The function that reads a result.
type ReadResult<T> = fn(Json) -> Result<T, serde_json::Error>;

/// Returns the error of a call whose driver is gone, because its runtime was shut down before or during the
/// call.
fn gone(method: Arc<str>) -> CallError {
    let call = CallName { method, tool: None };
    let reason = Reason::Rule(Rule::RuntimeEnded);
    // What was sent is unknown once the driver is gone.
    CallError::new(Kind::Closed, Delivery::Unknown, call, reason)
}
