//! One call or request: from the step of the script to its outcome in words.

use std::time::Duration;

use ridethrough::{Client, Json};
use ridethrough_lab::adapter::Outcome;
use serde_json::{Map, Value};
use tokio::time::timeout;

/// A call of a tool, as a script asks for it.
#[derive(Clone)]
pub(super) struct ToolCall {
    pub(super) tool: String,
    pub(super) args: Map<String, Value>,
    pub(super) deadline: Option<Duration>,
    pub(super) cancel_after: Option<Duration>,
}

impl ToolCall {
    /// Returns this call as one of several at once.
    pub(super) fn numbered(&self, number: usize) -> Self {
        let mut call = self.clone();
        call.args.insert("msg".to_owned(), format!("c{number}").into());
        call
    }

    /// Makes the call by the client's own rules: it sets nothing about whether the call may be repeated.
    pub(super) async fn make(self, client: &Client) -> Result<Outcome, String> {
        let mut call = client.call_tool(&self.tool, Value::Object(self.args));
        if let Some(deadline) = self.deadline {
            call = call.timeout(deadline);
        }
        let result = match self.cancel_after {
            None => call.await,
            // Dropping the call is how a user of this client cancels it.
            Some(after) => timeout(after, call).await.map_err(|_| cancelled(&self.tool, after))?,
        };
        let result = result.map_err(|error| error.report())?;
        let (text, is_error) = (Some(result.text()), Some(result.is_error));
        Ok(Outcome { text, is_error, json: None })
    }
}

/// Sends any request.
pub(super) async fn request(
    client: &Client,
    method: String,
    params: Option<Value>,
    deadline: Option<Duration>,
) -> Result<Outcome, String> {
    let mut call = client.request(method, params.unwrap_or_default());
    if let Some(deadline) = deadline {
        call = call.timeout(deadline);
    }
    whole(&call.await.map_err(|error| error.report())?)
}

/// Connects, and returns what the server says of itself.
pub(super) async fn connect(client: &Client) -> Result<Outcome, String> {
    whole(&client.connect().await.map_err(|error| error.report())?.result)
}

fn whole(result: &Json) -> Result<Outcome, String> {
    let json = serde_json::from_str(result.as_str()).map_err(|error| {
        format!("the result came, but this adapter cannot pass it on as JSON: {error}")
    })?;
    Ok(Outcome { json: Some(json), ..Outcome::default() })
}

fn cancelled(tool: &str, after: Duration) -> String {
    let after = after.as_secs_f64();
    format!("tools/call `{tool}` was cancelled by its caller after {after} s")
}
