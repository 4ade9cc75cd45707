//! What clients ask of their driver.

use std::sync::Arc;

use ridethrough_core::message::{Answer, Json};
use ridethrough_core::{CallError, Identity, QuestionId, Request, Status};
use tokio::sync::oneshot;

use super::callers::Caller;
use super::mailbox::Mailbox;
use crate::model::Root;

/// How clients name a call before the machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CallNumber(pub(crate) u64);

/// Where the fate of a notification is told.
pub(crate) type NoticeReply = oneshot::Sender<Result<(), CallError>>;

/// Something that an application wants.
pub(crate) enum Wish {
    Answer { question: QuestionId, answer: Answer },
    Cancel(CallNumber),
    Close(oneshot::Sender<()>),
    Connect(Caller),
    Inbox(Mailbox),
    KeepConnected,
    Listen(Mailbox),
    Notify { method: Arc<str>, params: Option<Json>, reply: NoticeReply },
    Send { caller: Caller, request: Request },
    SetIdentity(Identity),
    SetRoots(Vec<Root>),
    Status(oneshot::Sender<Status>),
}
