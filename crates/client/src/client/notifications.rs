//! What the server tells unasked, as a stream.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::Stream;
use ridethrough_core::Delivered;

use crate::driver::Post;
use crate::model::Notification;

/// The server's notifications from the moment this was made. Made by
/// [`Client::notifications`](crate::Client::notifications).
///
/// It holds 1,024 of them, and three times the message limit in bytes; what finds it full is dropped
/// and counted. Nothing in the link waits for its reader.
///
/// ```no_run
/// # async fn example(client: ridethrough::Client) -> Result<(), ridethrough::Error> {
/// use ridethrough::model::Notification;
///
/// let mut notifications = client.notifications();
/// client.keep_connected();
/// while let Some(notification) = notifications.next().await {
///     match notification {
///         Notification::Log(message) => println!("{}", message.data.as_str()),
///         Notification::ToolsChanged => println!("{} tools", client.tools().await?.len()),
///         _ => {}
///     }
/// }
/// # Ok(()) }
/// ```
pub struct Notifications {
    post: Post,
}

impl Notifications {
    pub(super) const fn new(post: Post) -> Self {
        Self { post }
    }

    /// The next notification; `None` when the client is closed or gone.
    pub async fn next(&mut self) -> Option<Notification> {
        std::future::poll_fn(|context| self.poll(context)).await
    }

    /// How many notifications found this stream full.
    pub fn dropped(&self) -> u64 {
        self.post.dropped()
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Notification>> {
        loop {
            match std::task::ready!(self.post.poll_next(context)) {
                None => return Poll::Ready(None),
                Some(Delivered::Notification { method, params, .. }) => {
                    return Poll::Ready(Some(Notification::read(method, params)));
                }
                // Questions are never put here: they go to handlers, or to the inbox.
                Some(Delivered::Question { .. } | Delivered::Withdrawn { .. }) => {}
            }
        }
    }
}

impl Stream for Notifications {
    type Item = Notification;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Notification>> {
        self.poll(context)
    }
}

impl fmt::Debug for Notifications {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notifications").finish_non_exhaustive()
    }
}
