//! `ridethrough call`: calls a tool and prints what it answers.
//!
//! The tools are listed first: the schema gives types to what was typed, what is missing or wrong is
//! told before the tool is called, and the client learns which tools only read.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use ridethrough::Json;
use ridethrough::model::{Tool, ToolResult};

use super::arguments::{self, Typed};
use super::files::Folder;
use super::schema::Schema;
use super::{Common, Talk, content, progress, safe, talk};
use crate::exit::Exit;
use crate::misuse::Misuse;

/// What `call` is asked for.
#[derive(clap::Args)]
#[command(after_long_help = AFTER)]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,
    /// The tool
    tool: String,
    /// Its arguments: `key=value` for each, or one JSON object, or `-` for an object on stdin
    arguments: Vec<String>,
    /// Save pictures, sounds and other bytes into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Do not list the tools first: send the arguments without types and checks
    #[arg(long)]
    unchecked: bool,
}

pub(super) fn play(args: &Args) -> Result<ExitCode> {
    // Before anything else: whoever types the object can still stop with Ctrl-C.
    let typed = arguments::read(&args.arguments);
    talk(&args.common, async |talk| args.call(talk, typed?).await)
}

impl Args {
    async fn call(&self, talk: &Talk, typed: Result<Typed, String>) -> Result<Exit> {
        let typed = typed.map_err(|fault| self.misuse(vec![fault]))?;
        let folder = self.out.as_ref().map(|path| Folder::open(path, &self.tool)).transpose()?;
        let arguments = match self.unchecked {
            true => typed.by(&Schema::new(&Json::empty_object())),
            false => self.checked(typed, &talk.timed(talk.client.tools()).await?)?,
        };
        let desk = talk.desk.clone();
        let mut call = talk.timed(talk.client.call_tool(&self.tool, arguments));
        call = call.on_progress(move |step| desk.show(&progress::line(&step)));
        if talk.settings.repeatable.contains(&self.tool) {
            call = call.repeatable();
        }
        let result = call.await?;
        let words = words(&result, folder.as_ref())?;
        talk.print(|| result.json.as_str().to_owned(), |out, _| write!(out, "{words}"))?;
        if result.is_error {
            talk.desk.say(&format!("error: `{}` ran and says that it failed", self.tool));
            return Ok(Exit::Tool);
        }
        Ok(Exit::Done)
    }

    /// The arguments with their types, if the tool takes them.
    fn checked(&self, typed: Typed, tools: &[Tool]) -> Result<Json, Misuse> {
        let Some(tool) = tools.iter().find(|tool| tool.name == self.tool) else {
            return Err(self.unknown(tools));
        };
        let schema = Schema::new(&tool.input_schema);
        let arguments = typed.by(&schema);
        let faults = schema.faults(&arguments);
        if faults.is_empty() { Ok(arguments) } else { Err(self.misuse(faults)) }
    }

    fn misuse(&self, faults: Vec<String>) -> Misuse {
        let faults: Vec<_> = faults.iter().map(|fault| safe::line(fault)).collect();
        Misuse {
            what: format!("`{}` cannot be called so: {}", self.tool, faults.join("\n  and: ")),
            tried: "the arguments were checked; the tool was not called".to_owned(),
            hint: "`ridethrough tools SERVER` shows what each tool takes".to_owned(),
        }
    }

    fn unknown(&self, tools: &[Tool]) -> Misuse {
        let names: Vec<_> =
            tools.iter().map(|tool| safe::line(&tool.name)).take(MOST_NAMES).collect();
        let more = if tools.len() > MOST_NAMES { " and more" } else { "" };
        let known = match names.is_empty() {
            true => "it has none".to_owned(),
            false => format!("it has {}{more}", names.join(", ")),
        };
        Misuse {
            what: format!("the server lists no tool `{}`: {known}", self.tool),
            tried: "the tools were listed; none was called".to_owned(),
            hint: "a tool that is not listed is called with `--unchecked`".to_owned(),
        }
    }
}

/// What a tool said. Structured content is the same once more, unless it stands alone.
fn words(result: &ToolResult, folder: Option<&Folder>) -> Result<String> {
    match (&result.structured_content, result.content.is_empty()) {
        (Some(json), true) => Ok(format!("{}\n", safe::json(json.as_str()))),
        _ => content::words(&result.content, folder),
    }
}

const MOST_NAMES: usize = 20;
const AFTER: &str = "\
Examples:
  ridethrough call https://example.com/mcp search query='open issues' limit=10
  ridethrough call https://example.com/mcp search '{\"query\": \"open issues\", \"limit\": 10}'
  TOKEN=... ridethrough call https://example.com/mcp deploy --bearer-env TOKEN to=production

A value has the type that the tool's schema gives it: `limit=10` is a number where a number is
wanted and text where text is. Lists and objects are written as JSON.";
