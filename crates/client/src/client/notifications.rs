//! The server's notifications as a stream.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::Stream;
use ridethrough_core::Delivered;

use crate::driver::Post;
use crate::model::Notification;

/// A stream of the server's notifications, created by
/// [`Client::notifications`](crate::Client::notifications).
///
/// It begins when it is created and holds 1,024 notifications, and three times the message limit in bytes;
/// when it is full, further ones are dropped and counted. The link never waits for the reader.
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

    /// Returns the next notification; `None` when the client is closed or gone.
    pub async fn next(&mut self) -> Option<Notification> {
        std::future::poll_fn(|context| self.poll(context)).await
    }

    /// Returns how many notifications were dropped because this stream was full.
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
                // Questions never come here: they go to handlers, or to the inbox.
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
