//! Hears what the server tells, by the callbacks of the SDK.

// Log messages are deprecated in the newest revision; the servers of the others still send them.
#![allow(deprecated)]

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{
    CustomNotification, LoggingMessageNotificationParam, ProgressNotificationParam,
    ResourceUpdatedNotificationParam,
};
use rmcp::service::NotificationContext;
use rmcp::{ClientHandler, RoleClient};
use serde_json::Value;

/// Everything that was told since it was last taken.
#[derive(Clone, Default)]
pub struct Heard(Arc<Mutex<Vec<String>>>);

impl Heard {
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn push(&self, what: impl Into<String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(what.into());
    }
}

type Context = NotificationContext<RoleClient>;

impl ClientHandler for Heard {
    async fn on_progress(&self, _: ProgressNotificationParam, _: Context) {
        self.push("progress");
    }

    async fn on_logging_message(&self, message: LoggingMessageNotificationParam, _: Context) {
        let data = match message.data {
            Value::String(text) => text,
            other => other.to_string(),
        };
        self.push(format!("message:{data}"));
    }

    async fn on_resource_updated(&self, _: ResourceUpdatedNotificationParam, _: Context) {
        self.push("resources/updated");
    }

    async fn on_resource_list_changed(&self, _: Context) {
        self.push("resources/list_changed");
    }

    async fn on_tool_list_changed(&self, _: Context) {
        self.push("tools/list_changed");
    }

    async fn on_prompt_list_changed(&self, _: Context) {
        self.push("prompts/list_changed");
    }

    async fn on_custom_notification(&self, told: CustomNotification, _: Context) {
        let name = told.method.strip_prefix("notifications/").unwrap_or(&told.method);
        self.push(name);
    }
}
