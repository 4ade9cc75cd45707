//! The server's own messages, raw: for bridges and whoever answers them himself.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::Stream;
use ridethrough_core::message::Answer;
use ridethrough_core::{Delivered, QuestionId};
use tokio::sync::mpsc;

use crate::driver::{CommandSender, DriverCommand, Post};

/// Notifications and requests of the server, as they come: a [`Stream`].
///
/// It holds 1,024 messages, and three times the message limit in bytes. What finds it full is not
/// kept: a notification is dropped and counted, a request is answered with an error. Nothing in the
/// link waits for its reader.
///
/// A server asks only what the client said it can answer ([`ClientBuilder::capabilities`]), and only
/// over a link that is up: see [`Client::connect`] and [`Client::keep_connected`].
///
/// ```no_run
/// # async fn example(client: ridethrough::Client) -> Result<(), Box<dyn std::error::Error>> {
/// use ridethrough::Json;
/// use ridethrough::event::{Answer, Delivered};
///
/// let mut inbox = client.inbox();
/// while let Some(message) = inbox.next().await {
///     match message {
///         Delivered::Question { question, method, .. } if &*method == "roots/list" => {
///             let roots = Json::of(&serde_json::json!({ "roots": [] }))?;
///             inbox.answer(question, Answer::Result(roots));
///         }
///         Delivered::Question { question, .. } => {
///             inbox.answer(question, Answer::refusal(-32601, "Method not found"));
///         }
///         Delivered::Notification { method, .. } => println!("{method}"),
///         // Whoever works on the answer can stop.
///         Delivered::Withdrawn { .. } => {}
///     }
/// }
/// # Ok(()) }
/// ```
///
/// [`Client::connect`]: crate::Client::connect
/// [`Client::keep_connected`]: crate::Client::keep_connected
/// [`ClientBuilder::capabilities`]: crate::ClientBuilder::capabilities
pub struct Inbox {
    post: Post,
    commands: mpsc::WeakUnboundedSender<Box<DriverCommand>>,
}

impl Inbox {
    pub(super) fn new(post: Post, commands: &CommandSender) -> Self {
        // An inbox alone does not keep a link alive.
        Self { post, commands: commands.downgrade() }
    }

    /// The next message; `None` when the client is closed or gone, or another inbox took over.
    pub async fn next(&mut self) -> Option<Delivered> {
        self.post.next().await
    }

    /// Answers a question. One that was withdrawn, or answered before, needs no answer.
    pub fn answer(&self, question: QuestionId, answer: Answer) {
        if let Some(commands) = self.commands.upgrade() {
            // A driver that is gone has nobody left to answer.
            let _ = commands.send(Box::new(DriverCommand::Answer { question, answer }));
        }
    }

    /// How many messages found this inbox full.
    pub fn dropped(&self) -> u64 {
        self.post.dropped()
    }
}

impl Stream for Inbox {
    type Item = Delivered;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Delivered>> {
        self.post.poll_next(context)
    }
}

impl Drop for Inbox {
    /// The server may wait for answers before it gives its own: what nobody read is refused.
    fn drop(&mut self) {
        let Some(commands) = self.commands.upgrade() else { return };
        for delivered in self.post.close() {
            if let Delivered::Question { question, .. } = delivered {
                let answer = Answer::refusal(-32601, "Method not found");
                // A driver that is gone has nobody left to answer.
                let _ = commands.send(Box::new(DriverCommand::Answer { question, answer }));
            }
        }
    }
}

impl std::fmt::Debug for Inbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inbox").finish_non_exhaustive()
    }
}
