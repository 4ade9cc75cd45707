//! A POST that is still open when word of its call has come already.
//!
//! Some servers answer it only when the tool is done, and take its end for a cancel: it is held for as long
//! as the call is read, and then for as long as the rest of any answer.

use futures_util::future::{BoxFuture, ready};
use ridethrough_core::Failure;
use tokio::sync::oneshot;

use super::REST;
use crate::drain::drain_reply;
use crate::transport::Reply;

/// Holds a POST open until it is dropped.
pub(super) struct Posting {
    _is_read: oneshot::Sender<()>,
}

impl Posting {
    pub(super) fn hold(posting: BoxFuture<'static, Result<Reply, Failure>>) -> Self {
        let (is_read, is_over) = oneshot::channel();
        tokio::spawn(see_out(posting, is_over));
        Self { _is_read: is_read }
    }
}

/// What the server answers is of no interest: that it has the request was seen on the stream.
async fn see_out(
    mut posting: BoxFuture<'static, Result<Reply, Failure>>,
    is_over: oneshot::Receiver<()>,
) {
    tokio::select! {
        reply = &mut posting => drain_reply(ready(reply), REST).await,
        _ = is_over => drain_reply(posting, REST).await,
    }
}
