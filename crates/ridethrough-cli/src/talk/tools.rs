//! `ridethrough tools`: the tools of a server, with what they take.

use anyhow::Result;
use ridethrough::model::Tool;

use super::schema::Schema;
use super::{Talk, joined, safe};
use crate::exit::Exit;
use crate::out::{Colour, painted, wrapped};

pub(super) async fn list(talk: &Talk) -> Result<Exit> {
    let tools = talk.timed(talk.client.tools()).await?;
    let json = || format!(r#"{{"tools":[{}]}}"#, joined(tools.iter().map(|it| &it.json)));
    talk.print(json, |out, is_colourful| {
        tools.iter().try_for_each(|tool| write!(out, "{}", words(tool, is_colourful)))
    })?;
    if tools.is_empty() {
        talk.desk.say("the server has no tools");
    }
    Ok(Exit::Done)
}

fn words(tool: &Tool, is_colourful: bool) -> String {
    let name = painted(&safe::line(&tool.name), Colour::Bold, is_colourful);
    let nature = nature(tool).map(|it| painted(&format!("  ({it})"), Colour::Faint, is_colourful));
    let mut words = format!("{name}{}\n", nature.unwrap_or_default());
    if let Some(description) = tool.description.as_deref().or(tool.title.as_deref()) {
        for paragraph in safe::text(description).lines().filter(|it| !it.trim().is_empty()) {
            words += &format!("{}\n", wrapped(paragraph, "    "));
        }
    }
    let schema = Schema::new(&tool.input_schema);
    let required = schema.required();
    for (name, property) in schema.properties() {
        let need = if required.contains(&name) { ", required" } else { "" };
        let description = property.description().map(|it| format!(": {it}")).unwrap_or_default();
        words += &safe::line(&format!("  {name}={}{need}{description}", property.words()));
        words.push('\n');
    }
    words
}

/// What a tool says about running twice, which decides what happens to a call in doubt.
fn nature(tool: &Tool) -> Option<&'static str> {
    let says = |hint: Option<bool>| hint == Some(true);
    let hints = &tool.annotations;
    match () {
        () if says(hints.read_only_hint) => Some("only reads: sent again when in doubt"),
        () if says(hints.idempotent_hint) => Some("says that it can run twice: see --repeatable"),
        () if says(hints.destructive_hint) => Some("may destroy"),
        () => None,
    }
}
