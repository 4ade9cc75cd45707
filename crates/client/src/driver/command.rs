//! What clients ask of their driver.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use ridethrough_core::message::{Answer, Json};
use ridethrough_core::{CallError, Era, Identity, QuestionId, Request, Status};
use tokio::sync::{mpsc, oneshot};

use super::callers::{CallNumber, Caller};
use super::mailbox::Mailbox;
use super::response_cache::Accepts;
use crate::model::Root;

/// Where the fate of a notification is told.
pub(crate) type NoticeReply = oneshot::Sender<Result<(), CallError>>;

/// The work of a handler, if there is one.
pub(crate) type Answering = Option<BoxFuture<'static, Answer>>;

/// The way in which commands come. In boxes: the channel keeps room for 32, and most links need none.
pub(crate) type CommandReceiver = mpsc::UnboundedReceiver<Box<DriverCommand>>;
pub(crate) type CommandSender = mpsc::UnboundedSender<Box<DriverCommand>>;

/// Something that an application wants.
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
    /// Told, by the end of the channel, when the link is closed.
    Follow(oneshot::Sender<()>),
    /// What was kept of this method is of no use.
    Forget {
        method: Arc<str>,
    },
    /// What would answer this question of the server's.
    Handler {
        method: Box<str>,
        params: Option<Json>,
        reply: oneshot::Sender<Answering>,
    },
    Inbox(Mailbox),
    KeepConnected,
    Listen(Mailbox),
    Notify {
        method: Arc<str>,
        params: Option<Json>,
        reply: NoticeReply,
    },
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
