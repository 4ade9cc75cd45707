//! The server's own messages as raw JSON, for bridges and applications that answer them themselves.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::Stream;
use ridethrough_core::{Delivered, QuestionId};
use ridethrough_wire::message::Answer;
use tokio::sync::mpsc;

use crate::driver::{CommandSender, DriverCommand, Post};

/// A [`Stream`] of the server's notifications and requests, as they arrive.
///
/// It holds 1,024 messages, and three times the message limit in bytes. When it is full, a notification is
/// dropped and counted, and a request is answered with an error. The link never waits for the reader.
///
/// A server sends only requests that the client's capabilities allow ([`ClientBuilder::capabilities`]), and
/// only over a link that is up: see [`Client::connect`] and [`Client::keep_connected`].
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

    /// Returns the next message; `None` when the client is closed or gone, or another inbox took over.
    pub async fn next(&mut self) -> Option<Delivered> {
        self.post.next().await
    }

    /// Answers a question. An answer to a question that was withdrawn, or answered before, is ignored.
    pub fn answer(&self, question: QuestionId, answer: Answer) {
        if let Some(commands) = self.commands.upgrade() {
            // If the driver is gone, no server waits for the answer.
            let _ = commands.send(Box::new(DriverCommand::Answer { question, answer }));
        }
    }

    /// Returns how many messages were not kept because this inbox was full.
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
    /// Refuses the questions that were not read, because the server may wait for their answers before it
    /// answers a call.
    fn drop(&mut self) {
        let Some(commands) = self.commands.upgrade() else { return };
        for delivered in self.post.close() {
            if let Delivered::Question { question, .. } = delivered {
                let answer = Answer::refusal(-32601, "Method not found");
                // If the driver is gone, no server waits for the answer.
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
