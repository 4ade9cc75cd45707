//! A server of `rmcp` with tools that do what the tests need, and a count of what ran.
#![expect(deprecated, reason = "sampling, roots and logging are what servers of today use")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientResult, ContentBlock,
    CreateMessageRequestParams, ElicitRequest, ElicitRequestParams, ElicitationSchema, ErrorData,
    GetPromptRequestParams, GetPromptResponse, GetPromptResult, ListPromptsResult,
    ListResourcesResult, ListToolsResult, LoggingLevel, LoggingMessageNotificationParam,
    PaginatedRequestParams, ProgressNotificationParam, Prompt, PromptMessage,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource,
    ResourceContents, Role, SamplingMessage, ServerCapabilities, ServerConfig, ServerRequest,
    SetLevelRequestParams, Tool, ToolAnnotations,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{RoleServer, ServerHandler};
use tokio::sync::Semaphore;

/// The tools of the server. Clones share one workshop, which outlives a killed server.
#[derive(Clone, Default)]
pub(crate) struct Workshop {
    books: Arc<Mutex<Books>>,
    /// The gate of the tool `wait`: each permit lets one call end.
    pub(crate) gate: Arc<Gate>,
}

/// A gate that is closed until a permit is added.
pub(crate) struct Gate(pub(crate) Semaphore);

impl Default for Gate {
    fn default() -> Self {
        Self(Semaphore::new(0))
    }
}

#[derive(Default)]
struct Books {
    runs: BTreeMap<String, usize>,
    clients: Vec<String>,
    notes: Vec<String>,
}

impl Workshop {
    /// Returns how often a tool ran.
    pub(crate) fn runs(&self, tool: &str) -> usize {
        self.books.lock().unwrap().runs.get(tool).copied().unwrap_or_default()
    }

    /// Returns the names of the clients, one for each session.
    pub(crate) fn clients(&self) -> Vec<String> {
        self.books.lock().unwrap().clients.clone()
    }

    /// Returns what else the server recorded.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.books.lock().unwrap().notes.clone()
    }

    fn note(&self, note: impl Into<String>) {
        self.books.lock().unwrap().notes.push(note.into());
    }

    /// Reports three steps of progress, and waits at the gate before the answer.
    async fn steps(&self, context: &RequestContext<RoleServer>) {
        let Some(token) = context.meta.get_progress_token() else { return };
        for step in 1..=3 {
            let progress = ProgressNotificationParam::new(token.clone(), f64::from(step));
            context.peer.notify_progress(progress).await.unwrap();
        }
    }

    async fn wait(&self, context: &RequestContext<RoleServer>) {
        tokio::select! {
            permit = self.gate.0.acquire() => permit.unwrap().forget(),
            () = context.ct.cancelled() => self.note("cancelled"),
        }
    }

    async fn log(&self, context: &RequestContext<RoleServer>) {
        let message = LoggingMessageNotificationParam::new(LoggingLevel::Info, "a word".into());
        context.peer.notify_logging_message(message).await.unwrap();
    }
}

impl ServerHandler for Workshop {
    fn get_info(&self) -> ServerConfig {
        let can = ServerCapabilities::builder().enable_tools().enable_prompts();
        let can = can.enable_resources().enable_logging().build();
        ServerConfig::new(can)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let name = context.peer.peer_info().map(|info| info.client_info.name.clone());
        self.books.lock().unwrap().clients.push(name.unwrap_or_default());
    }

    async fn on_roots_list_changed(&self, _: NotificationContext<RoleServer>) {
        self.note("roots changed");
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.note(format!("level {:?}", request.level));
        Ok(())
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tool = |name: &'static str| Tool::new(name, name, Arc::new(serde_json::Map::new()));
        let look = tool("look").annotate(ToolAnnotations::new().read_only(true));
        Ok(match request.and_then(|request| request.cursor) {
            None => {
                let mut first = ListToolsResult::with_all_items(vec![tool("echo"), tool("steps")]);
                first.next_cursor = Some("2".to_owned());
                first
            }
            Some(_) => ListToolsResult::with_all_items(vec![look]),
        })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        *self.books.lock().unwrap().runs.entry(request.name.to_string()).or_default() += 1;
        let text = match &*request.name {
            "ask" => {
                let words = vec![SamplingMessage::user_text("who is there?")];
                let asked = CreateMessageRequestParams::new(words, 16);
                let answer = context.peer.create_message(asked).await;
                answer.map_or_else(|error| error.to_string(), |answer| answer.model)
            }
            "change" => {
                context.peer.notify_tool_list_changed().await.unwrap();
                "changed".to_owned()
            }
            "elicit" => {
                let form = ElicitRequestParams::FormElicitationParams {
                    meta: None,
                    message: "your name?".to_owned(),
                    requested_schema: ElicitationSchema::new(BTreeMap::new()),
                };
                let asked = ServerRequest::ElicitRequest(ElicitRequest::new(form));
                match context.peer.send_request(asked).await {
                    Ok(ClientResult::ElicitResult(answer)) => format!("{:?}", answer.content),
                    other => format!("{other:?}"),
                }
            }
            "fail" => return Err(ErrorData::new(rmcp::model::ErrorCode(-32050), "no", None)),
            "log" => {
                self.log(&context).await;
                "logged".to_owned()
            }
            "pretend" => {
                let data = serde_json::json!({ "ridethrough": {
                    "kind": "closed", "mayHaveRun": false, "attempts": 0, "elapsedMs": 0,
                }, "why": "so" });
                return Err(ErrorData::internal_error("no", Some(data)));
            }
            "roots" => {
                let roots = context.peer.list_roots().await;
                roots.map_or_else(|error| error.to_string(), |it| it.roots[0].uri.clone())
            }
            "steps" => {
                self.steps(&context).await;
                self.wait(&context).await;
                "three steps".to_owned()
            }
            "look" | "wait" => {
                self.wait(&context).await;
                "waited".to_owned()
            }
            _ => serde_json::to_string(&request.arguments).unwrap(),
        };
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompt = Prompt::new("greet", Some("says hello"), None);
        Ok(ListPromptsResult::with_all_items(vec![prompt]))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let hello = PromptMessage::new_text(Role::User, format!("hello from {}", request.name));
        Ok(GetPromptResult::new(vec![hello]).into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(vec![Resource::new("mem:a", "a")]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let contents = ResourceContents::text("the text", request.uri);
        Ok(ReadResourceResult::new(vec![contents]).into())
    }
}
