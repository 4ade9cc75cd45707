//! A handler of `rmcp`'s client side that answers questions and records everything that it is told.
#![expect(deprecated, reason = "sampling, roots and logging are what servers of today use")]

use std::sync::{Arc, Mutex};

use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult,
    ElicitRequestParams, ElicitResult, ElicitationAction, ErrorData, Implementation,
    ListRootsResult, LoggingMessageNotificationParam, ProgressNotificationParam, Root,
    SamplingMessage,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, RoleClient};

/// The handler. Clones share one record.
#[derive(Clone, Default)]
pub(crate) struct Guest {
    book: Arc<Mutex<Vec<String>>>,
    /// Whether it never answers a request for a message.
    hesitates: bool,
}

impl Guest {
    pub(crate) fn hesitant() -> Self {
        Self { hesitates: true, ..Self::default() }
    }

    pub(crate) fn heard(&self) -> Vec<String> {
        self.book.lock().unwrap().clone()
    }

    fn note(&self, note: impl Into<String>) {
        self.book.lock().unwrap().push(note.into());
    }
}

impl ClientHandler for Guest {
    fn get_info(&self) -> ClientConfig {
        let can = ClientCapabilities::builder().enable_sampling().enable_roots();
        let can = can.enable_elicitation().build();
        ClientConfig::new(can, Implementation::new("guest", "1"))
    }

    async fn create_message(
        &self,
        _: CreateMessageRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        self.note("asked for a message");
        if self.hesitates {
            context.ct.cancelled().await;
            self.note("the question was withdrawn");
        }
        let words = SamplingMessage::assistant_text("me");
        Ok(CreateMessageResult::new(words, "model-1".to_owned()))
    }

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::new(vec![Root::new("file:///home")]))
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let name = serde_json::json!({ "name": "Ada" });
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(name))
    }

    async fn on_progress(
        &self,
        news: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.note(format!("progress {} of {}", news.progress, news.progress_token.0));
    }

    async fn on_logging_message(
        &self,
        message: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.note(format!("log {}", message.data));
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.note("tools changed");
    }
}
