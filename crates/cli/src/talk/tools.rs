//! `ridethrough tools`: lists the tools of a server, with their arguments.

use std::collections::HashSet;
use std::io;
use std::process::ExitCode;

use anyhow::Result;
use ridethrough::Json;
use ridethrough::model::Tool;

use super::questions::{self, Asking};
use super::schema::{SchemaDocument, check_names};
use super::{Common, Talk, ended_as_swapped, joined, nearest_tool, talk_asked, tool_page};
use crate::ending::exit::Exit;
use crate::misuse::Misuse;
use crate::out::{self, Colour, painted, wrapped};
use crate::{safe, secrets};

/// The arguments of `ridethrough tools`.
#[derive(clap::Args)]
pub(crate) struct ToolsArgs {
    #[command(flatten)]
    common: Common,
    /// Show this one whole: nested fields, defaults, annotations, and whether it is safe to repeat
    tool: Option<String>,
    #[command(flatten)]
    questions: questions::Flags,
}

pub(super) fn play(args: &ToolsArgs) -> Result<ExitCode> {
    let tool = args.tool.as_deref().unwrap_or_default();
    if let Some(ended) = ended_as_swapped(&args.common, ["tools", "tool"], tool, &[]) {
        return ended;
    }
    // The capabilities that `call` would declare: a server may hide tools whose questions cannot be answered.
    talk_asked(&args.common, &args.questions, Asking::OnTerminal, async |talk| match &args.tool {
        Some(name) => show(talk, name).await,
        None => list(talk).await,
    })
}

async fn show(talk: &Talk, name: &str) -> Result<Exit> {
    let tools = talk.tools().await?;
    let Some(tool) = tools.iter().find(|tool| tool.name == name).cloned() else {
        let hint = format!("`{}` lists them", talk.spoken.command("tools", ""));
        return Err(Misuse {
            what: format!("the server lists no tool `{name}`"),
            tried: format!("its {} tools were listed", tools.len()),
            hint: nearest_tool(name, &tools).map_or(hint.clone(), |it| format!("{it} {hint}")),
        }
        .into());
    };
    let is_colourful = out::is_colourful(&io::stdout());
    let rule = talk.settings.hints.rule(&tool.name);
    let json = tool.json.clone();
    let name = safe::line(&tool.name);
    let spoken = talk.spoken.clone();
    let call = move |words: &str| spoken.command("call", &format!("{name}{words}"));
    let page = talk.aside(move || tool_page::words(&tool, rule, is_colourful, call));
    let page = page.await?;
    talk.print(|| json.as_str().to_owned(), |out, _| write!(out, "{page}"))?;
    Ok(Exit::Done)
}

async fn list(talk: &Talk) -> Result<Exit> {
    let tools = talk.tools().await?;
    if tools.is_empty() {
        talk.print(|| r#"{"tools":[]}"#.to_owned(), |_, _| Ok(()))?;
        talk.terminal.say("the server has no tools");
        return Ok(Exit::Done);
    }
    let is_colourful = out::is_colourful(&io::stdout());
    let is_json = talk.is_json;
    let told = talk.aside(move || {
        if is_json {
            format!(r#"{{"tools":[{}]}}"#, joined(tools.iter().map(|it| &it.json)))
        } else {
            tools.iter().map(|tool| words(tool, is_colourful)).collect()
        }
    });
    let told = told.await?;
    talk.print(|| told.clone(), |out, _| write!(out, "{told}"))?;
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
    words + &arguments(&SchemaDocument::new(&tool.input_schema))
}

/// Returns a tool's arguments, one on each line.
pub(super) fn arguments(document: &SchemaDocument) -> String {
    let mut words = String::new();
    let schema = document.schema();
    let required: HashSet<_> = schema.required().into_iter().collect();
    for name in schema.undescribed().into_iter().take(MOST_SHOWN) {
        words += &format!("  {}=any value, required\n", safe::line(name));
    }
    for (name, property) in schema.properties().take(MOST_SHOWN) {
        let need = if required.contains(&name) { ", required" } else { "" };
        let default = property.default().map(|it| format!(" (default {it})")).unwrap_or_default();
        let description = property.description().map(|it| format!(": {it}")).unwrap_or_default();
        let (name, fits) = (secrets::masked(name), property.words());
        words += &safe::our_line(&format!("  {name}={fits}{need}{default}{description}"));
        words.push('\n');
    }
    match schema.properties().count().saturating_sub(MOST_SHOWN) {
        _ if document.is_too_large() => words += "  (its schema is too large to be shown)\n",
        0 => {}
        more => words += &format!("  (and {more} more)\n"),
    }
    words
}

/// Returns what a tool says about running twice, which decides what happens to a call in doubt.
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

/// The result of a rehearsal.
pub struct SchemaRehearsal {
    /// What would be shown of the schema.
    pub shown: String,
    /// The arguments that would be sent, unless the words are refused.
    pub arguments: Option<String>,
    /// Why nothing would be sent.
    pub faults: Vec<String>,
    /// Warnings about arguments that would be sent nevertheless.
    pub warnings: Vec<String>,
}

/// Shows a schema, and gives words its types; `None` if it is not JSON.
pub fn rehearse_schema(schema: &str, words: &[String]) -> Option<SchemaRehearsal> {
    let schema = Json::new(schema.to_owned()).ok()?;
    let document = SchemaDocument::new(&schema);
    let shown = arguments(&document);
    let typed = super::arguments::read(words).ok()?;
    let built = typed.map_err(|fault| vec![fault]).and_then(|it| it.by(document.schema()));
    let (json, origins) = match built {
        Ok(built) => built,
        Err(faults) => {
            return Some(SchemaRehearsal { shown, arguments: None, faults, warnings: Vec::new() });
        }
    };
    let verdict = check_names(&document, &json, &origins);
    Some(SchemaRehearsal {
        shown,
        arguments: Some(json.as_str().to_owned()),
        faults: verdict.faults,
        warnings: verdict.warnings,
    })
}

/// The most arguments that are shown: more than a sensible tool has.
const MOST_SHOWN: usize = 200;
