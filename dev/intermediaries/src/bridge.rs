//! Calls through `ridethrough bridge`, as a host does that has started it.

use std::path::PathBuf;

use anyhow::Result;
use ridethrough_testkit::process::{LineHost, home};
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::time::timeout;

use crate::case::{Case, DEADLINE, Ended, GRACE, LIST_LIMIT};

/// The program under test, and the folder in which it keeps what it learns.
#[derive(Clone, Debug)]
pub(crate) struct BridgeProgram {
    pub(crate) path: PathBuf,
    pub(crate) home: PathBuf,
}

impl BridgeProgram {
    /// Makes the call through a bridge of its own.
    pub(crate) async fn call(&self, url: &str, case: &Case) -> Ended {
        let mut host = match timeout(DEADLINE + GRACE, self.start(url)).await {
            Ok(Ok(host)) => host,
            Ok(Err(error)) => return Ended::NotMade(format!("{error:#}")),
            Err(_) => return Ended::NotMade("the bridge did not list the tools".to_owned()),
        };
        let params = json!({"name": case.tool.name(), "arguments": case.arguments()});
        let answer = timeout(DEADLINE + GRACE, host.ask("tools/call", &params)).await;
        match answer {
            Ok(Ok(answer)) => of(&answer),
            Ok(Err(error)) => Ended::NotMade(format!("{error:#}")),
            Err(_) => Ended::Hung,
        }
    }

    /// Starts a bridge, and waits until its host has the tools.
    async fn start(&self, url: &str) -> Result<LineHost> {
        let mut command = Command::new(&self.path);
        let deadline = DEADLINE.as_secs().to_string();
        command.args(["bridge", "--silent", "--timeout", &deadline, url]).envs(home(&self.home));
        let mut host = LineHost::start(&mut command)?;
        host.greet("intermediaries").await?;
        // A host asks again until it has the tools.
        while !lists(&mut host).await? {}
        Ok(host)
    }
}

/// Whether the tools were listed in time.
async fn lists(host: &mut LineHost) -> Result<bool> {
    match timeout(LIST_LIMIT, host.ask("tools/list", &json!({}))).await {
        Ok(answer) => Ok(!answer?["result"]["tools"].is_null()),
        Err(_) => Ok(false),
    }
}

/// Reads what a host was told. Doubt comes as a result that models read, or as an error.
fn of(answer: &Value) -> Ended {
    let (result, error) = (&answer["result"], &answer["error"]);
    let text = result["content"][0]["text"].as_str().unwrap_or_default().to_owned();
    if !result["_meta"]["ridethrough/doubt"].is_null() {
        return Ended::Doubt(text);
    }
    if !result.is_null() {
        return Ended::Answered(text);
    }
    let said = error["message"].as_str().unwrap_or_default().to_owned();
    // An error of the server itself says nothing of it, and was made by whoever has run the tool.
    match error["data"]["mayHaveRun"].as_bool() {
        Some(false) => Ended::Refused(said),
        _ => Ended::Doubt(said),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubt_is_doubt_in_both_forms_and_only_a_denial_is_a_refusal() {
        let result = json!({"result": {"isError": true, "content": [{"text": "look"}],
            "_meta": {"ridethrough/doubt": {"attempts": 1}}}});
        let error = json!({"error": {"message": "look", "data": {"mayHaveRun": true}}});
        let denial = json!({"error": {"message": "no", "data": {"mayHaveRun": false}}});
        let foreign = json!({"error": {"message": "Internal error"}});

        assert_eq!(of(&result), Ended::Doubt("look".to_owned()));
        assert_eq!(of(&error), Ended::Doubt("look".to_owned()));
        assert_eq!(of(&denial), Ended::Refused("no".to_owned()));
        assert_eq!(of(&foreign), Ended::Doubt("Internal error".to_owned()));
    }
}
