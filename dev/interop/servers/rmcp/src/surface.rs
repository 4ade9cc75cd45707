//! The tools, resources and prompts. Results are written as JSON: most types of the SDK cannot be
//! made from outside, and the JSON is what the README promises.

#![expect(
    deprecated,
    reason = "logging, roots and sampling go with 2026-07-28; they are tested here"
)]

use std::borrow::Cow;
use std::sync::Mutex;
use std::time::Duration;

use rmcp::model::*;
use rmcp::service::SubscriptionContext;
use rmcp::{ErrorData, ServerHandler};
use serde_json::{Value, json};

use crate::failure::{Context, Failure, error, note, of, refusal};
use crate::news::{News, pass_on, tell};
use crate::rounds::{Given, is_stateless};
use crate::tasks::{TASKS, later};
use crate::tools::{TOOLS, tool};

/// One session, or one request without any.
#[derive(Default)]
pub(crate) struct Surface {
    level: Mutex<Option<String>>,
    subscribed: Mutex<Vec<String>>,
}

impl Surface {
    async fn run(
        &self,
        name: &str,
        args: &Value,
        given: Given,
        context: Context,
    ) -> Result<String, Failure> {
        let key = args["key"].as_str().unwrap_or_default().to_owned();
        let time = Duration::from_millis(args["pause_ms"].as_u64().unwrap_or(0));
        match name {
            "add" => Ok(sum(&args["a"], &args["b"])),
            "ask_elicitation" => given.ask_elicitation(&context).await,
            "ask_roots" => given.ask_roots(&context).await,
            "ask_sampling" => given.ask_sampling(&context, &args["prompt"]).await,
            "change" => change(&context).await,
            "count" | "drop_stream" => {
                note(&format!("ran {key}"))?;
                tokio::time::sleep(time).await;
                Ok(key)
            }
            "echo" => Ok(args["text"].as_str().unwrap_or_default().to_owned()),
            "fail" => Err(Failure::Tool("this tool always fails".to_owned())),
            "later" => later(&context, key, time, args["asks"] == true),
            "log" => self.log(&context).await,
            "route" => Ok(header(&context, "mcp-param-region")),
            "slow" => slow(&context, key, args["steps"].as_u64().unwrap_or(1), time).await,
            "touch" => self.touch(&context).await,
            "wait" => wait(&context, key).await,
            other => Err(refusal(-32602, format!("no tool `{other}`"))),
        }
    }

    async fn log(&self, context: &Context) -> Result<String, Failure> {
        let asked = if is_stateless(context) {
            // The level comes with the request; without one, nothing may be sent.
            let level =
                context.meta.log_level().and_then(|level| json!(level).as_str().map(str::to_owned));
            Some(level.unwrap_or_default())
        } else {
            self.level.lock().expect("no tool panics while it holds the lock").clone()
        };
        let least = asked.unwrap_or_else(|| LEVELS[0].to_owned());
        let first = LEVELS.iter().position(|level| *level == least).unwrap_or(LEVELS.len());
        for level in &LEVELS[first..] {
            let data = format!("a {level} message");
            let params = json!({ "level": level, "logger": "interop", "data": data });
            context.peer.notify_logging_message(of(params)?).await?;
        }
        Ok("logged".to_owned())
    }

    async fn touch(&self, context: &Context) -> Result<String, Failure> {
        let is_subscribed = self
            .subscribed
            .lock()
            .expect("no tool panics while it holds the lock")
            .iter()
            .any(|uri| uri == "test://note");
        if is_subscribed {
            let params = of(json!({ "uri": "test://note" }))?;
            context.peer.notify_resource_updated(params).await?;
        }
        tell(News::Touched);
        Ok("touched".to_owned())
    }
}

/// The revisions of the eras that are left to this program.
pub(crate) fn versions() -> Cow<'static, [ProtocolVersion]> {
    match std::env::var("INTEROP_ERA").as_deref() {
        Ok("Legacy") => ProtocolVersion::known_up_to(&ProtocolVersion::V_2025_11_25).into(),
        Ok("Modern") => Cow::Borrowed(&[ProtocolVersion::V_2026_07_28]),
        _ => Cow::Borrowed(ProtocolVersion::KNOWN_VERSIONS),
    }
}

fn sum(a: &Value, b: &Value) -> String {
    match (a.as_i64(), b.as_i64()) {
        (Some(a), Some(b)) => (a + b).to_string(),
        _ => (a.as_f64().unwrap_or(0.0) + b.as_f64().unwrap_or(0.0)).to_string(),
    }
}

fn header(context: &Context, name: &str) -> String {
    let parts = context.extensions.get::<axum::http::request::Parts>();
    let value = parts.and_then(|parts| parts.headers.get(name)?.to_str().ok());
    value.unwrap_or("no header").to_owned()
}

async fn change(context: &Context) -> Result<String, Failure> {
    tell(News::Changed);
    if is_stateless(context) {
        return Ok("changed".to_owned());
    }
    // In a task of its own: what a handler tells goes out on the stream of its request.
    let peer = context.peer.clone();
    tokio::spawn(async move {
        let _ = peer.notify_tool_list_changed().await;
        let _ = peer.notify_prompt_list_changed().await;
        let _ = peer.notify_resource_list_changed().await;
    });
    Ok("changed".to_owned())
}

async fn slow(
    context: &Context,
    key: String,
    steps: u64,
    pause: Duration,
) -> Result<String, Failure> {
    note(&format!("ran {key}"))?;
    for step in 1..=steps {
        tokio::time::sleep(pause).await;
        if let Some(token) = context.meta.get_progress_token() {
            let params = json!({ "progressToken": token, "progress": step, "total": steps });
            context.peer.notify_progress(of(params)?).await?;
        }
    }
    Ok(key)
}

async fn wait(context: &Context, key: String) -> Result<String, Failure> {
    note(&format!("began {key}"))?;
    tokio::select! {
        () = tokio::time::sleep(Duration::from_secs(20)) => Ok(key),
        () = context.ct.cancelled() => {
            note(&format!("cancelled {key}"))?;
            Err(refusal(-32800, "cancelled".to_owned()))
        }
    }
}

impl ServerHandler for Surface {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_completions()
            .enable_logging()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_tasks()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        ServerConfig::new(capabilities)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        versions()
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        let start: usize = cursor.and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
        let end = TOOLS.len().min(start + PAGE);
        let tools: Vec<_> = TOOLS[start..end].iter().map(tool).collect();
        let next = (end < TOOLS.len()).then(|| end.to_string());
        of(json!({ "tools": tools, "nextCursor": next }))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let known = TOOLS.iter().find(|(each, ..)| *each == name)?;
        of(tool(known)).ok()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let given = Given::by(&request);
        let args = Value::Object(request.arguments.unwrap_or_default());
        let (text, is_error) = match self.run(&request.name, &args, given, context).await {
            Ok(text) => (text, false),
            Err(Failure::Tool(text)) => (text, true),
            Err(Failure::Asks(question)) => return Ok(question.into()),
            Err(Failure::Later(task)) => return Ok(CallToolResponse::Task(*task)),
            Err(Failure::Protocol(error)) => return Err(error),
        };
        let result: CallToolResult =
            of(json!({ "content": [{ "type": "text", "text": text }], "isError": is_error }))?;
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        let note = json!({ "uri": "test://note", "name": "note", "mimeType": "text/plain" });
        of(json!({ "resources": [note] }))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        of(json!({ "resourceTemplates": [{ "uriTemplate": "test://item/{id}", "name": "item" }] }))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        let text = match uri.strip_prefix("test://item/") {
            Some(id) => format!("item {id}"),
            None if uri == "test://note" => "a note".to_owned(),
            None => return Err(error(-32002, format!("no resource `{uri}`"))),
        };
        let content = json!({ "uri": uri, "mimeType": "text/plain", "text": text });
        let result: ReadResourceResult = of(json!({ "contents": [content] }))?;
        Ok(result.into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _: Context,
    ) -> Result<(), ErrorData> {
        self.subscribed.lock().expect("no tool panics while it holds the lock").push(request.uri);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: Context,
    ) -> Result<(), ErrorData> {
        self.subscribed
            .lock()
            .expect("no tool panics while it holds the lock")
            .retain(|uri| *uri != request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        pass_on(&context).await;
        Ok(())
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _: Context,
    ) -> Result<GetTaskResult, ErrorData> {
        Ok(GetTaskResult::new(TASKS.get_task(&request.task_id)?))
    }

    async fn update_task(&self, request: UpdateTaskParams, _: Context) -> Result<(), ErrorData> {
        TASKS.update_task(&request.task_id, request.input_responses)
    }

    async fn cancel_task(&self, request: CancelTaskParams, _: Context) -> Result<(), ErrorData> {
        TASKS.cancel_task(&request.task_id)
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        let greet = json!({ "name": "greet", "arguments": [{ "name": "name", "required": true }] });
        of(json!({ "prompts": [greet, { "name": "plain" }] }))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        let name = request.arguments.as_ref().and_then(|args| args["name"].as_str());
        let text = name.map_or_else(|| "Hello!".to_owned(), |name| format!("Hello, {name}!"));
        let message = json!({ "role": "user", "content": { "type": "text", "text": text } });
        let result: GetPromptResult = of(json!({ "messages": [message] }))?;
        Ok(result.into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: Context,
    ) -> Result<CompleteResult, ErrorData> {
        let begun = &request.argument.value;
        let values: Vec<_> = NAMES.iter().filter(|name| name.starts_with(begun)).collect();
        of(json!({ "completion": { "values": values, "total": values.len(), "hasMore": false } }))
    }

    async fn set_level(&self, request: SetLevelRequestParams, _: Context) -> Result<(), ErrorData> {
        *self.level.lock().expect("no tool panics while it holds the lock") =
            json!(request.level).as_str().map(str::to_owned);
        Ok(())
    }
}

const PAGE: usize = 5;
const LEVELS: [&str; 5] = ["debug", "info", "notice", "warning", "error"];
const NAMES: [&str; 3] = ["Ada", "Alan", "Grace"];
