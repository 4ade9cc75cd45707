//! What the tools of the suite do.

use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::ClientCapabilities;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::listed::{ChangingList, PROMPTS, TOOLS, embedded, image, sound, text};
use super::questions::{Questions, form, form_of, prompt};
use crate::failure::{Context, Failure, of, refusal};
use crate::news::{News, tell};
use crate::rounds::is_stateless;

/// Runs a tool, and returns its content.
pub(super) async fn run(
    name: &str,
    args: &Value,
    questions: &Questions<'_>,
) -> Result<Value, Failure> {
    if let Some(content) = plain(name) {
        return Ok(content);
    }
    let context = questions.context;
    let said = match name {
        "json_schema_2020_12_tool" | "test_x_mcp_header" => args.to_string(),
        "test_error_handling" => {
            let why = "This tool intentionally returns an error for testing";
            return Err(Failure::Tool(why.to_owned()));
        }
        "test_logging_tool" => log_if_asked(context).await?,
        "test_missing_capability" => needs_sampling(context)?,
        // A tool is not told which stream is its own, so it cannot close it.
        "test_reconnection" => {
            sleep(PAUSE * 2).await;
            "Reconnection test completed successfully.".to_owned()
        }
        "test_tool_with_logging" => with_logging(context).await?,
        "test_tool_with_progress" => with_progress(context).await?,
        "test_trigger_prompt_change" => changed(&PROMPTS, News::PromptsChanged),
        "test_trigger_tool_change" => changed(&TOOLS, News::ToolsChanged),
        _ => match name.strip_prefix("test_input_required_result_") {
            Some(what) => round(what, questions).await?,
            None => asking(name, args, questions).await?,
        },
    };
    Ok(json!([text(&said)]))
}

/// The content of a tool that always says the same.
fn plain(name: &str) -> Option<Value> {
    Some(match name {
        "test_added_tool" => json!([text("This tool is there after every other change.")]),
        "test_audio_content" => json!([sound()]),
        "test_embedded_resource" => {
            let said = "This is an embedded resource content.";
            json!([embedded("test://embedded-resource", "text/plain", said)])
        }
        "test_image_content" => json!([image()]),
        "test_multiple_content_types" => {
            let (uri, data) = ("test://mixed-content-resource", r#"{"test":"data","value":123}"#);
            let mixed = embedded(uri, "application/json", data);
            json!([text("Multiple content types test:"), image(), mixed])
        }
        "test_simple_text" => json!([text("This is a simple text response for testing.")]),
        _ => return None,
    })
}

#[expect(deprecated, reason = "logging goes with 2026-07-28; the suite asks for it")]
async fn log(context: &Context, data: &str) -> Result<(), Failure> {
    let params = of(json!({ "level": "info", "data": data }))?;
    Ok(context.peer.notify_logging_message(params).await?)
}

async fn log_if_asked(context: &Context) -> Result<String, Failure> {
    if !is_stateless(context) || context.meta.log_level().is_some() {
        log(context, "a message").await?;
    }
    Ok("logged, if it was asked for".to_owned())
}

async fn with_logging(context: &Context) -> Result<String, Failure> {
    for data in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        log(context, data).await?;
        sleep(PAUSE).await;
    }
    Ok("Tool with logging executed successfully".to_owned())
}

async fn with_progress(context: &Context) -> Result<String, Failure> {
    for done in [0, 50, 100] {
        if let Some(token) = context.meta.get_progress_token() {
            let params = json!({ "progressToken": token, "progress": done, "total": 100 });
            context.peer.notify_progress(of(params)?).await?;
        }
        sleep(PAUSE).await;
    }
    Ok("done".to_owned())
}

/// Changes a list, and tells whoever listens. Who has a session is not told.
fn changed(list: &ChangingList, news: News) -> String {
    list.change();
    tell(news);
    "changed".to_owned()
}

fn needs_sampling(context: &Context) -> Result<String, Failure> {
    if can(context, "sampling") {
        return Ok("this client can sample".to_owned());
    }
    let needed: ClientCapabilities = of(json!({ "sampling": {} }))?;
    Err(ErrorData::missing_required_client_capability(needed).into())
}

fn can(context: &Context, capability: &str) -> bool {
    context.client_capabilities().is_some_and(|it| json!(it).get(capability).is_some())
}

/// A tool that asks one thing, in a session if there is one.
async fn asking(name: &str, args: &Value, questions: &Questions<'_>) -> Result<String, Failure> {
    let given = |name: &str| args[name].as_str().unwrap_or_default();
    let wanted = match name {
        "test_elicitation" => form(given("message"), &["username", "email"]),
        "test_elicitation_sep1034_defaults" => form_of("Please look at them", defaults(), &[]),
        "test_elicitation_sep1330_enums" => form_of("Please choose", enums(), &[]),
        "test_sampling" => {
            let answer = questions.ask("it", SAMPLING, prompt(given("prompt"))).await?;
            return Ok(format!("LLM response: {}", sampled(&answer)));
        }
        "test_streaming_elicitation" => form("What is your name?", &["name"]),
        other => return Err(refusal(-32602, format!("no tool `{other}`"))),
    };
    let answer = questions.ask("it", FORM, wanted).await?;
    let (action, content) = (answer["action"].as_str().unwrap_or_default(), &answer["content"]);
    Ok(format!("Elicitation completed: action={action}, content={content}"))
}

/// A tool that the suite calls without a session.
async fn round(what: &str, questions: &Questions<'_>) -> Result<String, Failure> {
    let name = || form("What is your name?", &["name"]);
    let yes = || form_of("Please confirm", json!({ "ok": { "type": "boolean" } }), &["ok"]);
    Ok(match what {
        "elicitation" => {
            let answer = questions.ask("user_name", FORM, name()).await?;
            format!("Hello, {}!", answer["content"]["name"].as_str().unwrap_or_default())
        }
        "capabilities" => {
            if can(questions.context, "elicitation") {
                questions.ask("user_name", FORM, name()).await?;
            } else if can(questions.context, "sampling") {
                questions.ask("greeting", SAMPLING, prompt("Generate a greeting")).await?;
            }
            "nothing more to ask".to_owned()
        }
        "list_roots" => questions.ask("client_roots", ROOTS, json!({})).await?["roots"].to_string(),
        "multi_round" => {
            let color = form("Step 2: What is your favorite color?", &["color"]);
            questions.ask_in_turn(("step1", FORM, name()), ("step2", FORM, color))?;
            "both steps are done".to_owned()
        }
        "multiple_inputs" => {
            let greeting = ("greeting", SAMPLING, prompt("Generate a greeting"));
            let roots = ("client_roots", ROOTS, json!({}));
            questions.ask_all([("user_name", FORM, name()), greeting, roots], "all three")?;
            "all three are known".to_owned()
        }
        "sampling" => {
            let asked = prompt("What is the capital of France?");
            sampled(&questions.ask("capital_question", SAMPLING, asked).await?)
        }
        "request_state" | "tampered_state" => {
            questions.ask_all([("confirm", FORM, yes())], "to be confirmed")?;
            "state-ok".to_owned()
        }
        other => return Err(refusal(-32602, format!("no tool for `{other}`"))),
    })
}

fn sampled(answer: &Value) -> String {
    answer["content"]["text"].as_str().unwrap_or_default().to_owned()
}

fn defaults() -> Value {
    json!({
        "name": { "type": "string", "default": "John Doe" },
        "age": { "type": "integer", "default": 30 },
        "score": { "type": "number", "default": 95.5 },
        "status": {
            "type": "string",
            "enum": ["active", "inactive", "pending"],
            "default": "active",
        },
        "verified": { "type": "boolean", "default": true },
    })
}

fn enums() -> Value {
    let options = json!(["option1", "option2", "option3"]);
    let titled = [1, 2, 3]
        .map(|at| json!({ "const": format!("value{at}"), "title": format!("Option {at}") }));
    json!({
        "untitledSingle": { "type": "string", "enum": options },
        "titledSingle": { "type": "string", "oneOf": titled },
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["One", "Two", "Three"],
        },
        "untitledMulti": { "type": "array", "items": { "type": "string", "enum": options } },
        "titledMulti": { "type": "array", "items": { "anyOf": titled } },
    })
}

const FORM: &str = "elicitation/create";
const ROOTS: &str = "roots/list";
const SAMPLING: &str = "sampling/createMessage";
const PAUSE: Duration = Duration::from_millis(50);
