//! The tools, resources and prompts that the official suite asks servers for, on rmcp: its scenarios say what
//! each does.

#![expect(deprecated, reason = "logging and sampling go with 2026-07-28; the suite asks for them")]

mod listed;
mod questions;
mod tools;

use std::borrow::Cow;

use rmcp::model::*;
use rmcp::service::SubscriptionContext;
use rmcp::{ErrorData, ServerHandler};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::failure::{Context, Failure, of, refusal};
use crate::news::pass_on;
use crate::rounds::is_stateless;
use crate::surface::versions;

use listed::{PIXEL, PROMPTS, TOOLS, embedded, image, prompt, text, tool};
use questions::{Questions, form};

/// One session, or one request without any.
#[derive(Default)]
pub(crate) struct Fixture;

impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_completions()
            .enable_logging()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
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
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools: Vec<_> = TOOLS.names().map(tool).collect();
        complete(json!({ "tools": tools }))
    }

    /// The SDK asks for it to compare the headers of a call with its arguments.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        let known = TOOLS.names().find(|each| *each == name)?;
        of(tool(known)).ok()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let args = Value::Object(request.arguments.unwrap_or_default());
        let questions = Questions::of(&context, request.input_responses, request.request_state);
        let (content, is_error) = match tools::run(&request.name, &args, &questions).await {
            Ok(content) => (content, false),
            Err(Failure::Tool(why)) => (json!([text(&why)]), true),
            Err(Failure::Asks(question)) => return Ok(question.into()),
            Err(Failure::Later(task)) => return Ok(CallToolResponse::Task(*task)),
            Err(Failure::Protocol(error)) => return Err(error),
        };
        let result: CallToolResult = complete(json!({ "content": content, "isError": is_error }))?;
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resource = |(name, kind)| json!({ "uri": format!("test://{name}"), "name": name, "mimeType": kind });
        complete(json!({ "resources": RESOURCES.map(resource) }))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let uri = "test://template/{id}/data";
        let template = json!({ "uriTemplate": uri, "name": "template", "mimeType": JSON });
        complete(json!({ "resourceTemplates": [template] }))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        let content = read(&uri).ok_or_else(|| not_found(&uri, &context))?;
        let result: ReadResourceResult = complete(json!({ "contents": [content] }))?;
        Ok(result.into())
    }

    async fn subscribe(&self, _: SubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(&self, _: UnsubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
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

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompts: Vec<_> = PROMPTS.names().map(prompt).collect();
        complete(json!({ "prompts": prompts }))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        let args = Value::Object(request.arguments.unwrap_or_default());
        let questions = Questions::of(&context, request.input_responses, request.request_state);
        let contents = match said(&request.name, &args, &questions).await {
            Ok(contents) => contents,
            Err(Failure::Asks(question)) => return Ok(question.into()),
            Err(Failure::Protocol(error)) => return Err(error),
            Err(_) => return Err(ErrorData::internal_error("a prompt is no tool", None)),
        };
        let message = |content| json!({ "role": "user", "content": content });
        let messages: Vec<_> = contents.into_iter().map(message).collect();
        let result: GetPromptResult = complete(json!({ "messages": messages }))?;
        Ok(result.into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: Context,
    ) -> Result<CompleteResult, ErrorData> {
        let begun = &request.argument.value;
        let known = ["test-value-1", "test-value-2"];
        let values: Vec<_> = known.iter().filter(|value| value.starts_with(begun)).collect();
        complete(
            json!({ "completion": { "values": values, "total": values.len(), "hasMore": false } }),
        )
    }

    async fn set_level(&self, _: SetLevelRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }
}

/// Returns a result that asks for nothing more, and says so.
fn complete<T: DeserializeOwned>(mut result: Value) -> Result<T, ErrorData> {
    result["resultType"] = json!("complete");
    of(result)
}

fn read(uri: &str) -> Option<Value> {
    let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
    Some(match (uri, id) {
        (_, Some(id)) => {
            let made =
                json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            json!({ "uri": uri, "mimeType": JSON, "text": made.to_string() })
        }
        ("test://static-binary", _) => {
            json!({ "uri": uri, "mimeType": "image/png", "blob": PIXEL })
        }
        ("test://static-text", _) => {
            let text = "This is the content of the static text resource.";
            json!({ "uri": uri, "mimeType": PLAIN, "text": text })
        }
        ("test://watched-resource", _) => {
            json!({ "uri": uri, "mimeType": PLAIN, "text": "Watched resource content" })
        }
        _ => return None,
    })
}

/// The code for it has changed with 2026-07-28.
fn not_found(uri: &str, context: &Context) -> ErrorData {
    let code = if is_stateless(context) {
        ErrorCode::INVALID_PARAMS
    } else {
        ErrorCode::RESOURCE_NOT_FOUND
    };
    ErrorData::new(code, format!("no resource `{uri}`"), Some(json!({ "uri": uri })))
}

/// The contents of the messages of a prompt.
async fn said(name: &str, args: &Value, questions: &Questions<'_>) -> Result<Vec<Value>, Failure> {
    let given = |name: &str| args[name].as_str().unwrap_or_default().to_owned();
    Ok(match name {
        "test_added_prompt" => vec![text("This prompt is there after every other change.")],
        "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => {
            let (one, two) = (given("arg1"), given("arg2"));
            vec![text(&format!("Prompt with arguments: arg1='{one}', arg2='{two}'"))]
        }
        "test_prompt_with_embedded_resource" => vec![
            embedded(&given("resourceUri"), PLAIN, "Embedded resource content for testing."),
            text("Please process the embedded resource above."),
        ],
        "test_prompt_with_image" => vec![image(), text("Please analyze the image above.")],
        "test_input_required_result_prompt" => {
            let wanted = form("What context should the prompt use?", &["context"]);
            let answer = questions.ask("user_context", "elicitation/create", wanted).await?;
            vec![text(&format!("The context is {}", answer["content"]["context"]))]
        }
        other => return Err(refusal(-32602, format!("no prompt `{other}`"))),
    })
}

const PLAIN: &str = "text/plain";
const JSON: &str = "application/json";

/// Each resource: its URI after the scheme, and its media type.
const RESOURCES: [(&str, &str); 3] =
    [("static-text", PLAIN), ("static-binary", "image/png"), ("watched-resource", PLAIN)];
