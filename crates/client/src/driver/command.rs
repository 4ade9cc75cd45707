//! The commands of clients to their driver.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use ridethrough_core::{CallError, Era, Identity, PeerNews, QuestionId, Request, Status};
use ridethrough_wire::message::{Answer, Json};
use tokio::sync::{mpsc, oneshot};

use super::callers::{CallNumber, Caller};
use super::mailbox::Mailbox;
use super::response_cache::Accepts;
use crate::model::Root;

/// The channel for the outcome of a notification.
pub(crate) type NoticeReply = oneshot::Sender<Result<(), CallError>>;

/// The future of a handler, if there is one.
pub(crate) type Answering = Option<BoxFuture<'static, Answer>>;

/// The channel of commands. They are boxed, because the channel keeps room for 32 and most links need none.
pub(crate) type CommandReceiver = mpsc::UnboundedReceiver<Box<DriverCommand>>;
pub(crate) type CommandSender = mpsc::UnboundedSender<Box<DriverCommand>>;

/// A command of the application.
pub(crate) enum DriverCommand {
    Answer {
        question: QuestionId,
        answer: Answer,
    },
    Cancel(CallNumber),
    Close(oneshot::Sender<()>),
    Connect {
        caller: Caller,
        deadline: Option<Duration>,
    },
    /// A channel that ends when the link is closed.
    Follow(oneshot::Sender<()>),
    /// Drops the kept results of this method, which are of no use.
    Forget {
        method: Arc<str>,
    },
    /// Asks for the handler of a question of the server.
    Handler {
        method: Box<str>,
        params: Option<Json>,
        reply: oneshot::Sender<Answering>,
    },
    Inbox(Mailbox, InboxScope),
    KeepConnected,
    Listen(Mailbox),
    Notify {
        method: Arc<str>,
        params: Option<Json>,
        reply: NoticeReply,
    },
    /// Takes in what another client of the same server has found out about its trouble.
    Peer(PeerNews),
    PreferEra(Era),
    Send {
        caller: Caller,
        request: Request,
        accepts: Accepts,
    },
    SetIdentity(Identity),
    SetRoots(Vec<Root>),
    Status(oneshot::Sender<Status>),
}

/// What an inbox is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum InboxScope {
    /// Messages that come with calls; others only where something else listens.
    Calls,
    Everything,
}
