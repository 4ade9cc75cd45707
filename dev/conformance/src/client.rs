//! The client under test: the library, which the suite tells what to do.
//!
//! This program only lists and calls; the library does everything that the suite checks. The suite starts it
//! once for each scenario and names the scenario in the environment.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use ridethrough::model::{Elicited, Root, SamplingResult, Tool};
use ridethrough::server::Version;
use ridethrough::skills::SkillFiles;
use ridethrough::{Client, Json};
use ridethrough_oauth::ClientBuilderExt;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use crate::authorization;

/// Plays the scenario that the environment names against the server at this URL.
pub(crate) async fn play(url: &str) -> Result<()> {
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO")
        .context("MCP_CONFORMANCE_SCENARIO is not set: this is started by the conformance suite")?;
    let limit = std::env::var("MCP_CONFORMANCE_TIMEOUT_SECS").ok();
    let limit =
        limit.map_or(Ok(25), |text| text.parse()).context("MCP_CONFORMANCE_TIMEOUT_SECS")?;
    let client = client(url, &scenario)?;
    let playing = async {
        perform(&client, &scenario).await?;
        // The servers of skills speak both eras, whichever the suite names.
        if !scenario.starts_with("sep-2640-") {
            check_era(&client).await?;
        }
        client.close().await;
        Ok(())
    };
    let played = timeout(Duration::from_secs(limit), playing).await;
    played.with_context(|| format!("`{scenario}` did not end within {limit} s"))?
}

/// Creates one client for every scenario and both revisions: it finds out by itself which the server speaks.
fn client(url: &str, scenario: &str) -> Result<Client> {
    let form = match scenario {
        "sep-2322-client-request-state" => Elicited::filled_in(json!({ "confirmed": true })),
        // With everything as proposed: the library knows the proposals.
        _ => Elicited::accepted(),
    };
    let builder = Client::builder(url)
        .no_proxy()
        .on_form(move |_| std::future::ready(form.clone()))
        .on_sampling(|_| async { Ok(SamplingResult::text("none", "a text")) })
        .roots([Root::new("file:///tmp")]);
    let builder = match authorization::login(scenario)? {
        Some(login) => builder.oauth(login)?,
        None => builder,
    };
    Ok(builder.build()?)
}

/// Compares the era that the client found with the one that the suite names. The client itself is not told.
async fn check_era(client: &Client) -> Result<()> {
    let named = std::env::var("MCP_CONFORMANCE_PROTOCOL_VERSION").ok();
    let expected = named.as_deref().map_or(Some(Version::LATEST_LEGACY), Version::parse);
    let expected =
        expected.context("MCP_CONFORMANCE_PROTOCOL_VERSION is no revision that we speak")?;
    let found = client.connect().await?.version;
    ensure!(found.era() == expected.era(), "the server speaks {expected}, and {found} was spoken");
    Ok(())
}

async fn perform(client: &Client, scenario: &str) -> Result<()> {
    match scenario {
        "elicitation-sep1034-client-defaults" => {
            call_listed(client, "test_client_elicitation_defaults").await
        }
        "http-custom-headers" => repeat_given_calls(client).await,
        "http-invalid-tool-headers" => call_every_tool(client).await,
        "http-standard-headers" => ask_every_kind(client).await,
        "initialize" | "json-schema-ref-no-deref" => {
            client.tools().await?;
            Ok(())
        }
        "json-schema-2020-12-preservation" => echo_a_schema(client).await,
        "request-metadata" => ask_twice(client).await,
        "sep-2322-client-request-state" => go_rounds(client).await,
        "sep-2640-client-no-prefetch" => {
            ensure!(!client.skills().await?.is_empty(), "there is no skill");
            Ok(())
        }
        "sse-retry" => call_listed(client, "test_reconnection").await,
        "tools_call" => add(client).await,
        "auth/authorization-server-migration" => {
            for _ in 0..3 {
                client.tools().await?;
            }
            Ok(())
        }
        other if other.starts_with("auth/") => use_a_tool(client).await,
        other if other.starts_with("sep-2640-client-verify-") => use_every_skill(client).await,
        other => bail!("this client does not know the scenario `{other}`"),
    }
}

async fn add(client: &Client) -> Result<()> {
    client.tools().await?;
    let sum = client.call_tool("add_numbers", json!({ "a": 5, "b": 3 })).await?.text();
    ensure!(sum.contains('8'), "5 and 3 is `{sum}`");
    Ok(())
}

async fn call_listed(client: &Client, tool: &str) -> Result<()> {
    client.tools().await?;
    let result = client.call_tool(tool, json!({})).await?;
    ensure!(!result.is_error && !result.text().is_empty(), "`{tool}` gave no text");
    Ok(())
}

/// Lists the tools and calls the first.
async fn use_a_tool(client: &Client) -> Result<()> {
    let tools = client.tools().await?;
    let tool = tools.first().context("there is no tool")?;
    client.call_tool(&tool.name, json!({})).await?;
    Ok(())
}

/// Loads every skill, and reads all files of those that the library hands over. An error is an answer here:
/// the suite counts what is read after a file that it has changed.
async fn use_every_skill(client: &Client) -> Result<()> {
    for skill in client.skills().await? {
        match client.load_skill(&skill).await {
            Err(error) => eprintln!("{}: {:#}", skill.name(), anyhow::Error::from(error)),
            Ok(loaded) => {
                let SkillFiles::Listed(files) = &skill.files else { continue };
                for file in files {
                    loaded.read(&file.uri).await?;
                }
            }
        }
    }
    Ok(())
}

/// Calls a tool twice; the suite's server lists none, and answers a call of any.
async fn ask_twice(client: &Client) -> Result<()> {
    client.tools().await?;
    client.call_tool("any", json!({})).await?;
    client.notify(NEWS, ()).await?;
    Ok(())
}

/// Calls every tool that the library lists. An error is an answer here: the suite counts the calls.
async fn call_every_tool(client: &Client) -> Result<()> {
    let tools = client.tools().await?;
    ensure!(!tools.is_empty(), "no tool is left");
    for tool in tools {
        if let Err(error) = client.call_tool(&tool.name, stub(&tool)).await {
            eprintln!("{}: {error}", tool.name);
        }
    }
    Ok(())
}

async fn ask_every_kind(client: &Client) -> Result<()> {
    let tools = client.tools().await?;
    let tool = tools.first().context("there is no tool")?;
    client.call_tool(&tool.name, stub(tool)).await?;
    let resources = client.resources().await?;
    client.read_resource(&resources.first().context("there is no resource")?.uri).await?;
    let prompts = client.prompts().await?;
    client.get_prompt(&prompts.first().context("there is no prompt")?.name, ()).await?;
    client.notify(NEWS, ()).await?;
    Ok(())
}

async fn echo_a_schema(client: &Client) -> Result<()> {
    let tools = client.tools().await?;
    let tool = tools.iter().find(|tool| tool.name == "json_schema_2020_12_tool");
    let schema = tool.context("the tool with the schema is not listed")?.input_schema.clone();
    let arguments = Json::empty_object().with_members([("schema".to_owned(), schema)]);
    client.call_tool("json_schema_echo", arguments).await?;
    Ok(())
}

async fn repeat_given_calls(client: &Client) -> Result<()> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Given {
        tool_calls: Vec<GivenCall>,
    }
    #[derive(Deserialize)]
    struct GivenCall {
        name: String,
        arguments: Json,
    }

    let given = std::env::var("MCP_CONFORMANCE_CONTEXT").context("MCP_CONFORMANCE_CONTEXT")?;
    let given: Given = serde_json::from_str(&given).context("MCP_CONFORMANCE_CONTEXT")?;
    client.tools().await?;
    for GivenCall { name, arguments } in given.tool_calls {
        client.call_tool(&name, arguments).await?;
    }
    Ok(())
}

async fn go_rounds(client: &Client) -> Result<()> {
    client.tools().await?;
    for tool in ["echo_state", "unrelated", "no_state", "no_result_type"] {
        client.call_tool(&format!("test_mrtr_{tool}"), json!({})).await?;
    }
    Ok(())
}

/// Returns a value for every required argument of a tool.
fn stub(tool: &Tool) -> Value {
    let schema: Value = tool.input_schema.read().unwrap_or_default();
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let stubs = required.iter().filter_map(Value::as_str).map(|name| {
        let value = match schema["properties"][name]["type"].as_str() {
            Some("array") => json!([]),
            Some("boolean") => json!(true),
            Some("integer" | "number") => json!(1),
            Some("null") => Value::Null,
            Some("object") => json!({}),
            _ => json!("a text"),
        };
        (name.to_owned(), value)
    });
    Value::Object(stubs.collect::<Map<_, _>>())
}

/// A notification of an application. The stateless revision has none of its own from a client, and the suite
/// checks every message.
const NEWS: &str = "notifications/example";
