//! The tasks of a small server, in the form of either era. Their ids are numbers that other servers give, too.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// All tasks of one server.
#[derive(Default)]
pub(crate) struct SmallTasks {
    pub(crate) is_on: bool,
    all: BTreeMap<String, SmallTask>,
}

struct SmallTask {
    is_legacy: bool,
    status: &'static str,
    said: String,
}

impl SmallTasks {
    /// Adds what tasks can do to the capabilities.
    pub(crate) fn announce(&self, can: &mut Value, is_stateless: bool) {
        if self.is_on && is_stateless {
            can["extensions"] = json!({ EXTENSION: {} });
        } else if self.is_on {
            can["tasks"] = json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}});
        }
    }

    /// Begins a task, if the call asks for one or its client can follow one; else the work is done at once.
    pub(crate) fn begin(&mut self, params: &Value, server: &str) -> Value {
        let said = format!("{server} {}", params["arguments"]);
        let is_legacy = params["task"].is_object();
        let can = &params["_meta"]["io.modelcontextprotocol/clientCapabilities"]["extensions"];
        if !self.is_on || !(is_legacy || can[EXTENSION].is_object()) {
            return text(&said);
        }
        let id = (self.all.len() + 1).to_string();
        self.all.insert(id.clone(), SmallTask { is_legacy, status: "working", said });
        if is_legacy {
            return json!({ "task": self.described(&id) });
        }
        let mut task = self.described(&id).unwrap();
        task["resultType"] = "task".into();
        task
    }

    pub(crate) fn finish(&mut self, id: &str) {
        self.all.get_mut(id).unwrap().status = "completed";
    }

    /// Answers a request about tasks; `None` if there is no such task.
    pub(crate) fn answer(&mut self, method: &str, params: &Value) -> Option<Value> {
        if method == "tasks/list" {
            let all: Vec<_> = self.all.keys().filter_map(|id| self.described(id)).collect();
            return Some(json!({ "tasks": all }));
        }
        let id = params["taskId"].as_str()?;
        let task = self.all.get_mut(id)?;
        let (is_legacy, said) = (task.is_legacy, task.said.clone());
        if method == "tasks/cancel" {
            task.status = "cancelled";
        }
        let is_done = task.status == "completed";
        match method {
            "tasks/result" => {
                let mut result = text(&said);
                result["_meta"] = json!({ RELATED: { "taskId": id } });
                Some(result)
            }
            "tasks/update" => {
                task.said = format!("{said} {}", params["inputResponses"]);
                Some(json!({"resultType": "complete"}))
            }
            _ => {
                let mut task = self.described(id)?;
                if !is_legacy && is_done {
                    task["result"] = text(&said);
                }
                Some(task)
            }
        }
    }

    fn described(&self, id: &str) -> Option<Value> {
        let task = self.all.get(id)?;
        let [ttl, interval] =
            if task.is_legacy { ["ttl", "pollInterval"] } else { ["ttlMs", "pollIntervalMs"] };
        Some(json!({"taskId": id, "status": task.status, ttl: 3_600_000, interval: 100,
            "createdAt": "2026-11-18T00:00:00Z", "lastUpdatedAt": "2026-11-18T00:00:00Z"}))
    }
}

/// The definition of a tool. Only one may become a task.
pub(crate) fn tool(name: &str) -> Value {
    let support = if name == "work" { "optional" } else { "forbidden" };
    json!({"name": name, "inputSchema": {"type": "object"}, "execution": {"taskSupport": support}})
}

fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

/// The task that asks something before it has a result.
pub(crate) const ASKING: &str = "7";
pub(crate) const EXTENSION: &str = "io.modelcontextprotocol/tasks";
pub(crate) const RELATED: &str = "io.modelcontextprotocol/related-task";
