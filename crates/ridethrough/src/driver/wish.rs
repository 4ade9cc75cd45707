//! What clients ask of their driver.

use std::sync::Arc;
use std::time::Duration;

use ridethrough_core::message::{Answer, Json};
use ridethrough_core::{CallError, Delivered, Identity, QuestionId, Request, Status};
use tokio::sync::{mpsc, oneshot};

use super::callers::Caller;

/// How clients name a call before the machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CallNumber(pub(crate) u64);

/// Where the fate of a notification is told, if anybody wants to know.
pub(crate) type NoticeReply = Option<oneshot::Sender<Result<(), CallError>>>;

/// Something that an application wants.
pub(crate) enum Wish {
    Answer { question: QuestionId, answer: Answer },
    Cancel(CallNumber),
    Close(oneshot::Sender<()>),
    Connect { caller: Caller, deadline: Option<Duration> },
    Inbox(mpsc::Sender<Delivered>),
    KeepConnected,
    Notify { method: Arc<str>, params: Option<Json>, reply: NoticeReply },
    Send { caller: Caller, request: Request },
    SetIdentity(Identity),
    Status(oneshot::Sender<Status>),
}
