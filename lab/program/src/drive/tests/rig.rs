//! A server of the lab at the other end of pipes, and scripts that are played on it.

use futures_util::future::pending;
use ridethrough::ClientBuilder;
use ridethrough_lab::adapter::{Answer, Line, Outcome, Step};
use ridethrough_lab::{Mcp, Protocol, Server, Times, When};
use ridethrough_oauth::OAuth;
use serde_json::{Value, json};

use crate::drive::play_script;
use crate::login::Login;
use crate::pipes::client_of;

/// A server at the other end of pipes.
pub(super) struct Rig {
    pub(super) server: Server,
    pub(super) mcp: Mcp,
}

impl Rig {
    pub(super) fn new() -> Self {
        let mcp = Mcp::new();
        Self { server: Server::new(Protocol::Http1, mcp.clone()), mcp }
    }

    pub(super) fn builder(&self) -> ClientBuilder {
        client_of(&self.server)
    }

    pub(super) async fn play(&self, script: Value) -> Vec<Line> {
        let mut lines = Vec::new();
        let tell = |line| {
            lines.push(line);
            Ok(())
        };
        play_script(
            |access| access.on(self.builder()),
            Login(OAuth::new("nobody")),
            steps(script),
            tell,
        )
        .await
        .unwrap();
        lines
    }

    /// Plays the script, and stops before the last line: the client is still there.
    pub(super) async fn play_until_before_the_end(&self, script: Value) {
        tokio::select! {
            _ = self.play(script) => panic!("it was to be interrupted"),
            () = tokio::time::sleep(secs(0.5)) => {}
        }
    }

    /// Has the server run this tool and never answer.
    pub(super) fn hold(&self, tool: &str) {
        self.mcp.rule(When::tool(tool), Times::Always, |ask| async move {
            ask.run();
            let _open = ask.sse().await;
            pending().await
        });
    }

    pub(super) async fn push_after<const N: usize>(&self, wait: f64, told: [(&str, Value); N]) {
        tokio::time::sleep(secs(wait)).await;
        for (name, params) in told {
            assert_eq!(self.mcp.push(notification(name, params)).await, 1);
        }
    }
}

pub(super) fn steps(script: Value) -> Vec<Step> {
    serde_json::from_value(script).unwrap()
}

pub(super) fn notification(name: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": format!("notifications/{name}"), "params": params})
}

pub(super) fn outcome(line: &Line) -> Outcome {
    match &line.done.result {
        Some(Answer::One(outcome)) => outcome.clone(),
        other => panic!("one outcome, not {other:?}: {:?}", line.done.error),
    }
}

pub(super) fn error(line: &Line) -> &str {
    assert!(!line.done.ok);
    line.done.error.as_deref().unwrap()
}

pub(super) fn secs(secs: f64) -> std::time::Duration {
    std::time::Duration::from_secs_f64(secs)
}
