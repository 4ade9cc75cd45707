//! The client: what an application holds.
//!
//! A handle to one link; cloning it is cheap and all clones speak over the same link. When the last
//! one is dropped, everything ends with it: calls, streams and connections. Only
//! [`Client::close`] also tells the server.

mod call;
mod inbox;
mod list;
mod meta;
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
pub use pending::{Pending, PendingResult, PendingSourced};
pub use progress::ProgressStream;
pub use server::Server;
pub(crate) use task::Tasks;
pub use task::{Begun, Task, TaskCall, TaskWait};

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ridethrough_core::CallName;
use ridethrough_core::message::Json;
use ridethrough_core::{CallError, Delivery, Era, Identity, Kind, Reason, Status};
use tokio::sync::oneshot;

use crate::command::Command;
use crate::config::ClientBuilder;
use crate::driver::{CallNumber, Caller, CommandSender, DriverCommand, mailbox};
use crate::error::{BuildError, Error, result};
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
    /// How tasks are followed, if the server was told that they are.
    tasks: Option<Tasks>,
}

impl Client {
    /// A client with the default settings. It connects with its first call.
    pub fn new(url: &str) -> Result<Self, BuildError> {
        Self::builder(url).build()
    }

    /// A client of a local server, with the default settings: a program that speaks MCP over its stdin and
    /// stdout. It is started with the first call, and again when it has died.
    ///
    /// Everything else is as over HTTP: a call that the server may have run when it died is interrupted, one
    /// that is safe to repeat is sent to the next process, and a program that keeps dying is started again
    /// with growing pauses, for as long as a call is patient. What a server wrote to its stderr last is part
    /// of the error that tells of its end, unless [`Command::stderr`](crate::Command::stderr) says otherwise.
    ///
    /// [`close`](Self::close) closes the server's stdin, then asks it to end, then kills it. Dropping the
    /// last client kills it at once, with everything in its process group. If *our* process is killed,
    /// nobody can do that: the server sees the end of its stdin, and well-behaved ones then end.
    ///
    /// Only Unix has process groups: elsewhere this is refused.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use ridethrough::{Client, Command};
    ///
    /// let server = Command::new("npx").arg("-y").arg("@modelcontextprotocol/server-everything");
    /// let client = Client::spawn(server)?;
    /// for tool in client.tools().await? {
    ///     println!("{}", tool.name);
    /// }
    /// client.close().await;
    /// # Ok(()) }
    /// ```
    pub fn spawn(command: Command) -> Result<Self, BuildError> {
        ClientBuilder::spawn(command).build()
    }

    /// Begins a client with settings of your own.
    pub fn builder(url: &str) -> ClientBuilder {
        ClientBuilder::new(url)
    }

    pub(crate) fn from_parts(
        commands: CommandSender,
        lookout: Lookout,
        tasks: Option<Tasks>,
    ) -> Self {
        Self { commands, lookout, calls: Arc::default(), tasks }
    }

    /// Asks the server, in JSON: the other methods ([`call_tool`](Self::call_tool) and so on) are this
    /// one with types. The call begins when it is awaited and is cancelled when it is dropped.
    ///
    /// Params and result pass through byte for byte: unknown fields, big integers and the spelling
    /// of numbers stay what they are. A `progressToken` of your own in `_meta` goes out under another
    /// name, because a call may be sent twice, and comes back as yours.
    ///
    /// A list or a read that the server allowed to keep is given again without asking, unless the call is
    /// [`fresh`](Call::fresh): see [`Cache`](crate::policy::Cache).
    pub fn request(&self, method: impl Into<Arc<str>>, params: impl Into<Params>) -> Call {
        Call::new(self.clone(), method.into(), params.into(), Ok)
    }

    /// Tells the server something. Ends when the server has taken it, or with the policy's patience
    /// (30 s). Dropping the future does not take the message back.
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

    /// Connects now instead of with the first call, and says what the server is. Takes at most the
    /// policy's deadline (60 s). With a session in force it says what that session began with.
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

    /// Connects like [`connect`](Self::connect), and takes at most this long.
    pub async fn connect_within(&self, time: Duration) -> Result<Server, Error> {
        Server::read(result(self.handshake(Some(time)).await)?)
    }

    /// Connects, and gives the answer to the handshake as it is.
    pub(crate) fn handshake(&self, deadline: Option<Duration>) -> Pending {
        let (reply, outcome) = oneshot::channel();
        let caller = Caller { number: self.next_call(), reply, progress: None, track: None };
        let pending = Pending::new(self.clone(), "initialize".into(), caller.number, outcome, None);
        self.command(DriverCommand::Connect { caller, deadline });
        pending
    }

    /// Stays connected though no call waits: for a bridge, or an application that lives from the
    /// server's notifications.
    pub fn keep_connected(&self) {
        self.command(DriverCommand::KeepConnected);
    }

    /// Says who we are from the next handshake on: the first, or one after a lost session. A stateless
    /// server is told with every request, and so from the next one on. Both parts must be JSON objects.
    pub fn set_identity(&self, identity: Identity) {
        self.command(DriverCommand::SetIdentity(identity));
    }

    /// Speaks this era from the next handshake on, if the server speaks both: see
    /// [`ClientBuilder::prefer_era`].
    pub fn prefer_era(&self, era: Era) {
        self.command(DriverCommand::PreferEra(era));
    }

    /// The places that the server may work in, from here on; it is told that they changed. The server
    /// asks for them only if [`ClientBuilder::roots`] said that there are any.
    pub fn set_roots(&self, roots: impl IntoIterator<Item = Root>) {
        self.command(DriverCommand::SetRoots(roots.into_iter().collect()));
    }

    /// The server's notifications, from here on. Each such stream has them all.
    ///
    /// Those that belong to no call come only over a link that is up: see
    /// [`connect`](Self::connect) and [`keep_connected`](Self::keep_connected).
    pub fn notifications(&self) -> Notifications {
        let (mailbox, post) = mailbox();
        self.command(DriverCommand::Listen(mailbox));
        Notifications::new(post)
    }

    /// Takes over the server's messages from here on, raw; an earlier inbox ends. Requests that have a
    /// handler do not come here.
    ///
    /// Without an inbox, requests that have no handler are answered with "method not found".
    pub fn inbox(&self) -> Inbox {
        let (mailbox, post) = mailbox();
        self.command(DriverCommand::Inbox(mailbox));
        Inbox::new(post, &self.commands)
    }

    /// Everything worth telling an operator, from here on.
    pub fn events(&self) -> Events {
        self.lookout.watch()
    }

    /// Where the link stands; `None` if its runtime has been shut down.
    pub async fn status(&self) -> Option<Status> {
        let (reply, status) = oneshot::channel();
        self.command(DriverCommand::Status(reply));
        status.await.ok()
    }

    /// Ends every call, gives the session back and closes the link; takes at most 5 s. Whoever reads
    /// the inbox or watches events sees their end.
    pub async fn close(&self) {
        let (reply, closed) = oneshot::channel();
        self.command(DriverCommand::Close(reply));
        // The driver lets go of the sender if the link is closed already.
        let _ = closed.await;
    }

    fn command(&self, command: DriverCommand) {
        // A driver that is gone drops the command, and with it the reply's sender: whoever waits for
        // the reply learns it from that.
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
    /// Writes a value as JSON.
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

/// The outcome of a call whose driver is gone: its runtime was shut down, before or under the call.
fn gone(method: Arc<str>) -> CallError {
    let call = CallName { method, tool: None };
    let reason = Reason::Rule("the runtime of its client was shut down");
    // Nobody is left who knows what was sent.
    CallError::new(Kind::Closed, Delivery::Unknown, call, reason)
}
