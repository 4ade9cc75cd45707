//! A server of the lab on a socket, and the binary in a folder of its own, with an environment of its own.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use ridethrough_lab::{Mcp, Protocol, Server, Times, When};
use ridethrough_testkit::place::ScratchFolder;
pub(crate) use ridethrough_testkit::process::Ran;
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::time::timeout;

pub(crate) struct Rig {
    pub(crate) mcp: Mcp,
    pub(crate) server: Server,
    pub(crate) url: String,
    pub(crate) folder: ScratchFolder,
}

impl Rig {
    /// Creates a server that offers a tool of each kind that these tests call.
    pub(crate) async fn new() -> Self {
        Self::over(Protocol::Http1).await
    }

    /// Creates a server that offers such tools, with a certificate.
    pub(crate) async fn over_tls() -> Self {
        Self::over(Protocol::Http1Tls).await
    }

    async fn over(protocol: Protocol) -> Self {
        let mcp = Mcp::new();
        mcp.tools(tools());
        let server = Server::new(protocol, mcp.clone());
        let address = server.listen().await.unwrap();
        let url = format!("{}://{address}/mcp", protocol.scheme());
        Self { mcp, server, url, folder: ScratchFolder::new("talk-test").unwrap() }
    }

    /// Makes this tool answer with this result.
    pub(crate) fn answer(&self, tool: &str, result: Value) {
        self.rule(When::tool(tool), result);
    }

    /// Makes these requests be answered with this result.
    pub(crate) fn rule(&self, when: When, result: Value) {
        self.mcp.rule(when, Times::Always, move |ask| {
            let result = ask.result(result.clone());
            async move {
                ask.run();
                ask.json(result).await;
            }
        });
    }

    /// Returns the command that runs the binary with these words; `SERVER` stands for the server's URL.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ridethrough"));
        let words = words.iter().map(|word| word.replace("SERVER", &self.url));
        command.args(words).env_clear().current_dir(self.folder.path()).stdin(Stdio::null());
        command.env("HOME", self.folder.path()).kill_on_drop(true);
        // The tests count requests, and questions for the era must not be among them.
        command.env("RIDETHROUGH_ERA", "legacy");
        command
    }

    /// Runs the binary to its end.
    pub(crate) async fn run(&self, words: &[&str]) -> Ran {
        self.run_with(words, &[]).await
    }

    /// Runs the binary to its end, with these variables.
    pub(crate) async fn run_with(&self, words: &[&str], variables: &[(&str, &str)]) -> Ran {
        let mut command = self.command(words);
        command.envs(variables.iter().copied());
        let output = timeout(Duration::from_secs(50), command.output()).await;
        output.expect("it ends by itself").unwrap().into()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn tools() -> Value {
    json!([
        {"name": "echo", "description": "Says it again.",
         "inputSchema": {"type": "object", "properties": {
            "msg": {"type": "string", "description": "what to say"}}}},
        {"name": "deploy", "description": "Puts a version into service.",
         "annotations": {"destructiveHint": true},
         "inputSchema": {"type": "object", "additionalProperties": false,
            "required": ["to", "replicas"], "properties": {
                "to": {"enum": ["staging", "production"], "description": "where"},
                "replicas": {"type": "integer", "minimum": 1, "maximum": 9, "description": "how many"},
                "ratio": {"type": "number"},
                "dry": {"type": "boolean"},
                "tags": {"type": "array", "items": {"type": "string"}},
                "labels": {"type": "object"},
                "note": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}},
        {"name": "look", "description": "Only reads.", "annotations": {"readOnlyHint": true},
         "inputSchema": {"type": "object"}},
        {"name": "put", "annotations": {"idempotentHint": true}, "inputSchema": {"type": "object"}},
    ])
}
