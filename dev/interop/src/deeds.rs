//! What a host of an SDK does behind our bridge and before our gateway alike, and what must come of it.

use serde_json::{Value, json};

use crate::host::Host;
use crate::partner::{SAMPLED, Verdict, expect};
use crate::surface::Surface;

impl Host {
    /// Lists tools, resources and prompts, reads one and has one filled in.
    pub(crate) async fn finds_all(&mut self, surface: Surface) -> Verdict {
        let (resource, said) = surface.listed();
        let (prompt, arguments, filled_in) = surface.prompt();

        let tools = self.does(json!({ "do": "list", "what": "tools" })).await?;
        let resources = self.does(json!({ "do": "list", "what": "resources" })).await?;
        let prompts = self.does(json!({ "do": "list", "what": "prompts" })).await?;
        let read = self.does(json!({ "do": "read", "uri": resource })).await?;
        let filled =
            self.does(json!({ "do": "prompt", "name": prompt, "arguments": arguments })).await?;

        for tool in surface.tools() {
            has(&tools, tool)?;
        }
        has(&resources, resource)?;
        has(&prompts, prompt)?;
        expect(read == said, || format!("`{resource}` says {read}"))?;
        expect(filled == filled_in, || format!("the prompt is {filled}"))
    }

    pub(crate) async fn hears_progress(&mut self, surface: Surface, key: &str) -> Verdict {
        self.calls(surface.slow(key, 4, 50)).await?;

        let steps: Vec<_> = self
            .told("progress")
            .iter()
            .map(|it| it["progress"].as_f64().unwrap_or(-1.0))
            .collect();
        // An SDK that reads the last step together with the answer does not report it (TypeScript, version 1).
        let all = [1.0, 2.0, 3.0, 4.0];
        expect(steps.len() >= 3 && all.starts_with(&steps), || format!("told {steps:?}"))
    }

    /// Checks that log messages come, and none below the level that was asked for, which is `warning`.
    pub(crate) async fn hears_logs(&mut self, surface: Surface) -> Verdict {
        self.calls(surface.log()).await?;

        self.hears("notifications/message").await?;
        let levels: Vec<_> =
            self.told("notifications/message").iter().map(|it| it["level"].clone()).collect();
        let is_wanted = |level: &Value| level == "warning" || level == "error";
        expect(levels.iter().all(is_wanted), || format!("told {levels:?}"))
    }

    pub(crate) async fn fills_in_a_form(&mut self, surface: Surface) -> Verdict {
        let form = self.calls(surface.ask_elicitation()).await?;

        let missing = surface.defaults().iter().find(|it| !form.contains(**it));
        missing.map_or(Ok(()), |it| Err(format!("no `{it}` in `{form}`")))
    }

    pub(crate) async fn samples(&mut self, surface: Surface) -> Verdict {
        let sampled = self.calls(surface.ask_sampling("the sea", SAMPLED)).await?;

        expect(sampled.contains("the sea"), || format!("got `{sampled}`"))
    }
}

/// Checks that a list has a member of this name.
pub(crate) fn has(list: &Value, name: &str) -> Verdict {
    let names = list.as_array().map(Vec::as_slice).unwrap_or_default();
    expect(names.iter().any(|it| it == name), || format!("no `{name}` in {list}"))
}
