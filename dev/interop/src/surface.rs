//! The tools and texts of the servers: ours share one surface, `everything` has its own.

use ridethrough::model::Notification;
use serde_json::{Value, json};

/// The surface that a server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Surface {
    /// `@modelcontextprotocol/server-everything` as published.
    Everything,
    /// `dev/interop/servers/README.md`.
    Ours,
}

/// A tool to call, and what its answer must contain.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
    pub(crate) answer: String,
}

impl Surface {
    pub(crate) fn add(self, a: i64, b: i64) -> Question {
        let answer = (a + b).to_string();
        match self {
            Self::Everything => tool("get-sum", json!({ "a": a, "b": b }), answer),
            Self::Ours => tool("add", json!({ "a": a, "b": b }), answer),
        }
    }

    pub(crate) fn ask_elicitation(self) -> Question {
        match self {
            Self::Everything => {
                tool("trigger-elicitation-request", json!({}), r#""integer": 42"#.to_owned())
            }
            Self::Ours => tool("ask_elicitation", json!({}), r#""accept""#.to_owned()),
        }
    }

    /// Returns the defaults of its form, as they come back in the answer.
    pub(crate) const fn defaults(self) -> &'static [&'static str] {
        match self {
            Self::Everything => &["3.14", "Monica", "It was a dark and stormy night."],
            Self::Ours => &["Ada", "36", "true"],
        }
    }

    pub(crate) fn ask_roots(self, root: &str) -> Question {
        let name = if self == Self::Everything { "get-roots-list" } else { "ask_roots" };
        tool(name, json!({}), root.to_owned())
    }

    pub(crate) fn ask_sampling(self, prompt: &str, answer: &str) -> Question {
        let everything = self == Self::Everything;
        let name = if everything { "trigger-sampling-request" } else { "ask_sampling" };
        tool(name, json!({ "prompt": prompt }), answer.to_owned())
    }

    /// Returns a call for which a person has to look at a page; our servers on the TypeScript SDKs have it.
    pub(crate) fn ask_url(self) -> Question {
        tool("ask_url", json!({}), "accept".to_owned())
    }

    /// Returns a call that makes the server send a changed list outside any request, and that notification.
    pub(crate) fn change(self) -> (Question, Notification) {
        match self {
            Self::Everything => {
                let arguments = json!({ "name": "a.gz", "data": "data:text/plain,a", "outputType": "resourceLink" });
                let question = tool("gzip-file-as-resource", arguments, "a.gz".to_owned());
                (question, Notification::ResourcesChanged)
            }
            Self::Ours => {
                let question = tool("change", json!({}), "changed".to_owned());
                (question, Notification::ToolsChanged)
            }
        }
    }

    /// Returns a prompt, its argument, what was typed of it, and what it may be completed to.
    pub(crate) const fn complete(
        self,
    ) -> (&'static str, &'static str, &'static str, [&'static str; 2]) {
        match self {
            Self::Everything => ("completable-prompt", "department", "S", ["Sales", "Support"]),
            Self::Ours => ("greet", "name", "A", ["Ada", "Alan"]),
        }
    }

    /// Returns a call that runs once, writes to the ledger, and takes this long. It is not safe to repeat.
    /// `everything` has no ledger; its echo counts as unsafe as long as the client has not listed its tools.
    pub(crate) fn count(self, key: &str, pause_ms: u64) -> Question {
        if self == Self::Everything {
            return self.echo(key);
        }
        tool("count", json!({ "key": key, "pause_ms": pause_ms }), key.to_owned())
    }

    pub(crate) fn drop_stream(self, key: &str) -> Question {
        tool("drop_stream", json!({ "key": key }), key.to_owned())
    }

    pub(crate) fn echo(self, text: &str) -> Question {
        let argument = if self == Self::Everything { "message" } else { "text" };
        tool("echo", json!({ argument: text }), text.to_owned())
    }

    /// Whether its tools write to the ledger.
    pub(crate) const fn has_ledger(self) -> bool {
        matches!(self, Self::Ours)
    }

    pub(crate) fn fail(self) -> Question {
        match self {
            Self::Everything => tool("get-sum", json!({ "a": "x" }), String::new()),
            Self::Ours => tool("fail", json!({}), "this tool always fails".to_owned()),
        }
    }

    /// Returns a task that ends after this long, and may ask for a form before.
    pub(crate) fn later(self, key: &str, pause_ms: u64, asks: bool) -> Question {
        let answer = if asks { self.defaults()[0] } else { key };
        let arguments = json!({ "key": key, "pause_ms": pause_ms, "asks": asks });
        tool("later", arguments, answer.to_owned())
    }

    /// Returns a call that makes the server send log messages.
    pub(crate) fn log(self) -> Question {
        let name = if self == Self::Everything { "toggle-simulated-logging" } else { "log" };
        tool(name, json!({}), String::new())
    }

    /// Returns a prompt, its arguments, and its text.
    pub(crate) fn prompt(self) -> (&'static str, Value, &'static str) {
        match self {
            Self::Everything => ("args-prompt", json!({ "city": "Paris" }), "Paris"),
            Self::Ours => ("greet", json!({ "name": "Ada" }), "Hello, Ada!"),
        }
    }

    /// Returns a resource that is in the list, and its text.
    pub(crate) const fn listed(self) -> (&'static str, &'static str) {
        match self {
            Self::Everything => ("demo://resource/static/document/features.md", "Everything"),
            Self::Ours => ("test://note", "a note"),
        }
    }

    /// Returns a resource that only a template names, and its text.
    pub(crate) const fn made(self) -> (&'static str, &'static str) {
        match self {
            Self::Everything => ("demo://resource/dynamic/text/7", "Resource 7"),
            Self::Ours => ("test://item/7", "item 7"),
        }
    }

    /// Returns a call that sends progress after each step; ours also writes to the ledger.
    pub(crate) fn slow(self, key: &str, steps: u32, pause_ms: u32) -> Question {
        match self {
            Self::Everything => {
                let duration = f64::from(steps * pause_ms) / 1000.0;
                let arguments = json!({ "duration": duration, "steps": steps });
                tool("trigger-long-running-operation", arguments, "completed".to_owned())
            }
            Self::Ours => {
                let arguments = json!({ "key": key, "steps": steps, "pause_ms": pause_ms });
                tool("slow", arguments, key.to_owned())
            }
        }
    }

    /// Returns a call that answers the header in which its argument came.
    pub(crate) fn route(self, region: &str, header: &str) -> Question {
        tool("route", json!({ "region": region }), header.to_owned())
    }

    pub(crate) const fn template(self) -> &'static str {
        match self {
            Self::Everything => "demo://resource/dynamic/text/{resourceId}",
            Self::Ours => "test://item/{id}",
        }
    }

    /// Tools that must be in the list.
    pub(crate) const fn tools(self) -> &'static [&'static str] {
        match self {
            Self::Everything => &["echo", "get-sum", "trigger-long-running-operation"],
            Self::Ours => &[
                "add",
                "ask_elicitation",
                "ask_roots",
                "ask_sampling",
                "change",
                "count",
                "drop_stream",
                "echo",
                "fail",
                "log",
                "route",
                "slow",
                "touch",
                "wait",
            ],
        }
    }

    /// Returns a call that makes the server send that a resource was updated.
    pub(crate) fn touch(self) -> Question {
        let name = if self == Self::Everything { "toggle-subscriber-updates" } else { "touch" };
        tool(name, json!({}), String::new())
    }

    /// Returns a call that waits until it is cancelled, and writes that to the ledger.
    pub(crate) fn wait(self, key: &str) -> Question {
        tool("wait", json!({ "key": key }), key.to_owned())
    }
}

fn tool(tool: &'static str, arguments: Value, answer: String) -> Question {
    Question { tool, arguments, answer }
}
