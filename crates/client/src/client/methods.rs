//! The methods of MCP, one function each.
//!
//! They only write params and say how the result is read; everything else is done by [`Client::request`].

use std::collections::BTreeMap;

use ridethrough_wire::message::Json;
use serde::Serialize;

use super::{Call, Client, List, Params};
use crate::model::{
    self, Completion, LogLevel, Model, Prompt, PromptResult, Reference, Resource, ResourceResult,
    ResourceTemplate, Tool, ToolResult,
};

impl Client {
    /// Lists the tools of the server.
    pub fn tools(&self) -> List<Tool> {
        List::new(self.clone())
    }

    /// Calls a tool. The arguments are an object, or `()` for none. Use [`Json::new`] for arguments that a
    /// model wrote as text.
    ///
    /// A call in doubt is sent again only if [`tools`](Self::tools) has shown that the tool only reads, or if
    /// the call is marked as [`idempotent`](Call::idempotent).
    ///
    /// ```no_run
    /// # async fn example(client: ridethrough::Client) -> Result<(), ridethrough::Error> {
    /// let result = client.call_tool("echo", serde_json::json!({ "text": "hello" })).await?;
    /// if result.is_error {
    ///     eprintln!("echo failed: {}", result.text());
    /// }
    /// # Ok(()) }
    /// ```
    pub fn call_tool(&self, name: &str, arguments: impl Serialize) -> Call<ToolResult> {
        self.ask_named("tools/call", name, &arguments, model::read_result)
    }

    /// Lists the resources of the server.
    pub fn resources(&self) -> List<Resource> {
        List::new(self.clone())
    }

    /// Lists the resource templates of the server.
    pub fn resource_templates(&self) -> List<ResourceTemplate> {
        List::new(self.clone())
    }

    /// Reads a resource.
    pub fn read_resource(&self, uri: &str) -> Call<ResourceResult> {
        self.ask("resources/read", &At { uri }, model::read)
    }

    /// Subscribes to changes of a resource: see [`notifications`](Self::notifications). When a session is
    /// renewed, the client subscribes again by itself.
    pub fn subscribe(&self, uri: &str) -> Call<()> {
        self.ask("resources/subscribe", &At { uri }, nothing)
    }

    /// Ends a subscription to a resource.
    pub fn unsubscribe(&self, uri: &str) -> Call<()> {
        self.ask("resources/unsubscribe", &At { uri }, nothing)
    }

    /// Lists the prompts of the server.
    pub fn prompts(&self) -> List<Prompt> {
        List::new(self.clone())
    }

    /// Gets a prompt, filled in with these arguments: an object of strings, or `()` for none.
    pub fn get_prompt(&self, name: &str, arguments: impl Serialize) -> Call<PromptResult> {
        self.ask_named("prompts/get", name, &arguments, model::read)
    }

    /// Asks for completions of an argument, of which `typed` is the beginning.
    ///
    /// ```no_run
    /// # async fn example(client: ridethrough::Client) -> Result<(), ridethrough::Error> {
    /// use ridethrough::model::Reference;
    ///
    /// let city = client.complete(&Reference::prompt("weather"), "city", "Well").await?;
    /// println!("{:?}", city.values);
    /// # Ok(()) }
    /// ```
    pub fn complete(&self, reference: &Reference, argument: &str, typed: &str) -> Call<Completion> {
        #[derive(Serialize)]
        struct Asked<'a> {
            r#ref: &'a model::To,
            argument: Argument<'a>,
            #[serde(skip_serializing_if = "Option::is_none")]
            context: Option<Context<'a>>,
        }
        #[derive(Serialize)]
        struct Argument<'a> {
            name: &'a str,
            value: &'a str,
        }
        #[derive(Serialize)]
        struct Context<'a> {
            arguments: &'a BTreeMap<String, String>,
        }

        let known = Some(&reference.context).filter(|known| !known.is_empty());
        let params = Asked {
            r#ref: &reference.to,
            argument: Argument { name: argument, value: typed },
            context: known.map(|arguments| Context { arguments }),
        };
        self.ask("completion/complete", &params, |result| {
            let missing = || serde::de::Error::missing_field("completion");
            model::read(result.member("completion").ok_or_else(missing)?)
        })
    }

    /// Sets the lowest level of log messages that the server sends: see
    /// [`notifications`](Self::notifications). When a session is renewed, the client sets it again by itself.
    pub fn set_log_level(&self, level: LogLevel) -> Call<()> {
        #[derive(Serialize)]
        struct Asked {
            level: LogLevel,
        }

        self.ask("logging/setLevel", &Asked { level }, nothing)
    }

    /// Sends a ping, which asks for nothing but an answer.
    pub fn ping(&self) -> Call<()> {
        Call::new(self.clone(), "ping".into(), Params::default(), nothing)
    }

    fn ask_named<M: Model>(
        &self,
        method: &'static str,
        name: &str,
        arguments: &impl Serialize,
        read: super::ReadResult<M>,
    ) -> Call<M> {
        let (arguments, fault) = match Params::of(arguments) {
            Ok(Params(Some(json))) if !json.as_bytes().starts_with(b"{") => {
                (None, Some("the arguments are JSON of another kind, must be an object".to_owned()))
            }
            Ok(Params(arguments)) => (arguments, None),
            Err(error) => (None, Some(format!("the arguments cannot be written as JSON: {error}"))),
        };
        let name = Json::of(name).expect("a string is JSON");
        let arguments = arguments.as_ref().map(|json| ("arguments", json));
        let params = Json::object([("name", &name)].into_iter().chain(arguments));
        let call = Call::new(self.clone(), method.into(), params.into(), read);
        match fault {
            Some(fault) => call.unfit(fault),
            None => call,
        }
    }

    fn ask<T>(
        &self,
        method: &'static str,
        params: &impl Serialize,
        read: super::ReadResult<T>,
    ) -> Call<T> {
        let params = Json::of(params).expect("made of JSON and strings");
        Call::new(self.clone(), method.into(), params.into(), read)
    }
}

#[derive(Serialize)]
struct At<'a> {
    uri: &'a str,
}

#[expect(clippy::unnecessary_wraps, reason = "it is one of the ways to read a result")]
fn nothing(_: Json) -> Result<(), serde_json::Error> {
    Ok(())
}
