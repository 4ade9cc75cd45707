//! The notifications of the server, in the words of the adapter protocol.

use std::pin::pin;

use futures_util::FutureExt;
use ridethrough::event::Notifications;
use ridethrough::model::Notification;
use ridethrough::{Client, Json};
use tokio::task::unconstrained;

/// Listens to one client after the other and keeps the notifications.
#[derive(Default)]
pub(super) struct Ear {
    notifications: Option<Notifications>,
    heard: Vec<String>,
}

impl Ear {
    /// Listens to this client from here on. Notifications of the last one are kept.
    pub(super) fn turn_to(&mut self, client: &Client) {
        self.hear_what_is_there();
        self.notifications = Some(client.notifications());
    }

    /// Listens while `doing` runs: the client keeps a bounded number of notifications that are not read.
    pub(super) async fn during<T>(&mut self, doing: impl Future<Output = T>) -> T {
        let mut doing = pin!(doing);
        loop {
            tokio::select! {
                // A server that never stops sending must not hold up the step.
                biased;
                done = &mut doing => return done,
                Some(told) = next(&mut self.notifications) => self.heard.push(words(&told)),
            }
        }
    }

    /// Returns everything that came since the last time.
    pub(super) fn take(&mut self) -> Vec<String> {
        self.hear_what_is_there();
        std::mem::take(&mut self.heard)
    }

    fn hear_what_is_there(&mut self) {
        // Without tokio's budget, which would make a long queue of notifications seem to end early.
        while let Some(Some(told)) = unconstrained(next(&mut self.notifications)).now_or_never() {
            self.heard.push(words(&told));
        }
    }
}

async fn next(notifications: &mut Option<Notifications>) -> Option<Notification> {
    notifications.as_mut()?.next().await
}

/// Returns `message:<data>` for a log message, otherwise the method without `notifications/`.
fn words(told: &Notification) -> String {
    match told {
        Notification::ElicitationComplete { .. } => "elicitation/complete".to_owned(),
        Notification::Log(message) => message_of(&message.data),
        Notification::PromptsChanged => "prompts/list_changed".to_owned(),
        Notification::ResourcesChanged => "resources/list_changed".to_owned(),
        Notification::ResourceUpdated { .. } => "resources/updated".to_owned(),
        Notification::ToolsChanged => "tools/list_changed".to_owned(),
        Notification::Other { method, params } => other(method, params.as_ref()),
        // The library may learn new kinds before this adapter has a word for them.
        _ => "a kind that this adapter has no word for".to_owned(),
    }
}

/// Returns the words for a notification of another kind. A log message without a proper level is still one.
fn other(method: &str, params: Option<&Json>) -> String {
    let name = method.strip_prefix("notifications/").unwrap_or(method);
    let data = params.and_then(|params| params.member("data"));
    match data {
        Some(data) if name == "message" => message_of(&data),
        _ => name.to_owned(),
    }
}

fn message_of(data: &Json) -> String {
    let text = data.read::<String>().unwrap_or_else(|| data.as_str().to_owned());
    format!("message:{text}")
}
