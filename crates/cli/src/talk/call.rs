//! `ridethrough call`: calls a tool and prints its result.
//!
//! The tools are listed first: the schema gives types to what was typed, missing and misspelt names are
//! reported before the tool is called, and the client learns which tools only read. Whether the values fit, the
//! server decides, and its words are passed on.

use std::borrow::Cow;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering::Relaxed;

use anyhow::Result;
use ridethrough::call::CallName;
use ridethrough::machine::ReplayRule;
use ridethrough::model::{LogLevel, Progress, TaskSupport, Tool};
use ridethrough::{Error, Json};
use ridethrough_wire::message::code::INVALID_PARAMS;

use super::arguments::{self, BY_NAME, Typed};
use super::ending::{self, Hint};
use super::files::Folder;
use super::questions::{self, Asking};
use super::schema::{self, NameVerdict, SchemaDocument};
use super::{Common, Talk, content, ended_as_swapped, nearest_tool, talk_asked, task};
use crate::choices::{LEVELS, one_of};
use crate::ending::exit::Exit;
use crate::misuse::Misuse;
use crate::safe;
use crate::secrets;

/// The arguments of `ridethrough call`.
#[derive(clap::Args)]
#[command(after_long_help = AFTER)]
pub(crate) struct CallArgs {
    #[command(flatten)]
    common: Common,
    /// The tool
    tool: String,
    /// Its arguments: `key=value`, `key:=json` or `key=@file` for each, or one JSON object, or `-` for an
    /// object on stdin
    arguments: Vec<String>,
    /// Save pictures, sounds and other bytes into this folder; `-` writes them to stdout
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Do not list the tools first: send the arguments without types, whatever their names
    #[arg(long)]
    unchecked: bool,
    /// Do not wait for the result: let the server go on with it as a task, and print the task's name for
    /// `ridethrough task`
    #[arg(long)]
    detach: bool,
    /// Ask the server for its log, from this level on, and tell it on stderr
    #[arg(long, value_name = "LEVEL", value_parser = one_of(&LEVELS))]
    log: Option<LogLevel>,
    #[command(flatten)]
    questions: questions::Flags,
}

pub(super) fn play(args: &CallArgs) -> Result<ExitCode> {
    let order = ["call", "tool"];
    if let Some(ended) = ended_as_swapped(&args.common, order, &args.tool, &args.arguments) {
        return ended;
    }
    // Before anything else: a person who types the object can still stop with Ctrl-C.
    let typed = arguments::read(&args.arguments);
    let work = async |talk: &Talk| args.call(talk, typed?).await;
    talk_asked(&args.common, &args.questions, Asking::OnTerminal, work)
}

impl CallArgs {
    async fn call(&self, talk: &Talk, typed: Result<Typed, String>) -> Result<Exit> {
        let typed = match typed {
            Ok(typed) => typed,
            Err(fault) => {
                let fault = self.with_names(talk, fault).await;
                return Err(self.misuse(talk, vec![fault]).into());
            }
        };
        if self.detach && talk.is_program {
            return Err(homeless().into());
        }
        if self.detach {
            // Without tasks the server would return a result, and a script would take it for the name of a
            // task.
            task::has_tasks(&talk.client.connect().await?)?;
        }
        let folder = self.out.as_ref().map(|path| Folder::open(path, &self.tool)).transpose()?;
        let (arguments, tool) = if self.unchecked {
            let document = SchemaDocument::new(&Json::empty_object());
            let built = typed.by(document.schema());
            (built.map_err(|faults| self.misuse(talk, faults))?.0, None)
        } else {
            let (arguments, tool) = self.checked(talk, typed).await?;
            (arguments, Some(tool))
        };
        if let Some(level) = self.log {
            talk.tell_log(level).await?;
        }
        let terminal = talk.terminal.clone();
        let mut call = talk.timed(talk.client.call_tool(&self.tool, arguments));
        call = call.on_progress(move |step| terminal.show(&progress(&step)));
        let rule = talk.settings.hints.rule(&self.tool);
        call = match rule {
            ReplayRule::ByNature => call,
            ReplayRule::Once => call.once(),
            ReplayRule::Repeatable => call.idempotent(),
        };
        talk.is_tool_called.store(true, Relaxed);
        // The client follows every other task by itself.
        let result = match tool.as_ref().map(|it| it.task_support).unwrap_or_default() {
            _ if self.detach => match talk.detach(call).await? {
                Some(result) => result,
                None => return Ok(Exit::Done),
            },
            TaskSupport::Required => talk.call_as_task(call).await?,
            TaskSupport::Forbidden | TaskSupport::Optional => {
                let is_askable = talk.questions.is_open();
                let only_reads = tool.is_some_and(|it| it.annotations.read_only_hint == Some(true));
                let is_repeatable = match rule {
                    ReplayRule::ByNature => only_reads,
                    ReplayRule::Once => false,
                    ReplayRule::Repeatable => true,
                };
                let read_back = |error| ending::read_back(error, self.name(), is_repeatable);
                call.await.map_err(|error| self.explained(talk, read_back(error), is_askable))?
            }
        };
        let exit = content::print(talk, &result, folder.as_ref(), &format!("`{}`", self.tool))?;
        if exit == Exit::Tool && !self.arguments.is_empty() {
            talk.terminal.say(&format!("\nhint: {}", safe::our_line(&self.what_it_takes(talk))));
        }
        Ok(exit)
    }

    /// Returns the arguments with their types, if their names fit the tool's schema, and the tool.
    async fn checked(&self, talk: &Talk, typed: Typed) -> Result<(Json, Tool)> {
        let mut tools = talk.tools().await?;
        let Some(place) = tools.iter().position(|tool| tool.name == self.tool) else {
            return Err(self.unknown(&tools, talk.questions.is_open()).into());
        };
        let tool = tools.swap_remove(place);
        let schema = tool.input_schema.clone();
        let built = talk.aside(move || build(typed, &schema)).await?;
        let (arguments, NameVerdict { mut faults, misspelt, warnings }) =
            built.map_err(|faults| self.misuse(talk, faults))?;
        let way = if faults.is_empty() { UNCHECKED } else { "" };
        faults.extend(misspelt.iter().map(|it| format!("{it}{way}")));
        if !faults.is_empty() {
            // A missing argument may have been typed under another name.
            let others = warnings.into_iter().map(|it| it.replace(schema::SENT, ""));
            return Err(self.misuse(talk, faults.into_iter().chain(others).collect()).into());
        }
        for warning in warnings {
            talk.terminal.say(&format!("warning: {}", safe::our_line(&warning)));
        }
        Ok((arguments, tool))
    }

    /// Returns the fault of what was typed; words without names get those of the tool's arguments, in their
    /// order.
    async fn with_names(&self, talk: &Talk, fault: String) -> String {
        if let Some(spelling) = arguments::spelling(&self.arguments) {
            return format!("{fault}; {spelling}");
        }
        let is_unnamed = |it: &&String| arguments::is_unnamed(it);
        let unnamed: Vec<_> = self.arguments.iter().filter(is_unnamed).cloned().collect();
        if unnamed.is_empty() || self.unchecked {
            return fault;
        }
        // If the tools cannot be listed, the fault is reported without names.
        let tools = talk.tools().await.unwrap_or_default();
        let Some(tool) = tools.into_iter().find(|tool| tool.name == self.tool) else {
            return format!("{fault}; {BY_NAME}");
        };
        let schema = tool.input_schema;
        let names = talk.aside(move || names_for(&schema, &unnamed)).await.unwrap_or_default();
        if names.is_empty() { fault } else { format!("{fault}; {BY_NAME}: `{names}`") }
    }

    fn name(&self) -> CallName {
        CallName { method: "tools/call".into(), tool: Some(self.tool.as_str().into()) }
    }

    /// Adds a hint to a server's error: about a question that could not be answered, which an SDK words in its
    /// own way, or about arguments that the server does not take.
    fn explained(&self, talk: &Talk, error: Error, is_askable: bool) -> anyhow::Error {
        let Some(rpc) = error.server().map(|it| &it.rpc) else { return error.into() };
        let words = rpc.message.to_lowercase();
        let wants_to_ask = words.contains("elicit") || words.contains("sampling");
        let is_about_arguments = rpc.code == INVALID_PARAMS;
        let error = anyhow::Error::from(error);
        if wants_to_ask && !is_askable {
            error.context(UNASKED)
        } else if is_about_arguments {
            error.context(Hint(self.what_it_takes(talk).into()))
        } else {
            error
        }
    }

    fn what_it_takes(&self, talk: &Talk) -> String {
        format!("`{}` shows what it takes", talk.spoken.command("tools", &self.tool))
    }

    fn misuse(&self, talk: &Talk, faults: Vec<String>) -> Misuse {
        let faults: Vec<_> = faults.iter().map(|fault| safe::our_line(fault)).collect();
        Misuse {
            what: format!("`{}` cannot be called so: {}", self.tool, faults.join("\n  and: ")),
            tried: "the arguments were checked; the tool was not called".to_owned(),
            hint: self.what_it_takes(talk),
        }
    }

    fn unknown(&self, tools: &[Tool], is_askable: bool) -> Misuse {
        let names: Vec<_> =
            tools.iter().map(|tool| safe::line(&tool.name)).take(MOST_NAMES).collect();
        let more = if tools.len() > MOST_NAMES { " and more" } else { "" };
        let known = if names.is_empty() {
            "it has none".to_owned()
        } else {
            format!("it has {}{more}", names.join(", "))
        };
        let unchecked = if is_askable {
            "a tool that is not listed is called with `--unchecked`"
        } else {
            "a tool that is not listed is called with `--unchecked`; some servers list tools that ask only \
                 where they can be answered: on a terminal, with `--answer` or with `--sampling-command`"
        };
        Misuse {
            what: format!("the server lists no tool `{}`: {known}", self.tool),
            tried: "the tools were listed; none was called".to_owned(),
            hint: nearest_tool(&self.tool, tools)
                .map_or_else(|| unchecked.to_owned(), |it| format!("{it} {unchecked}")),
        }
    }
}

/// Returns the misuse of `--detach` with a program: the task would end with it.
fn homeless() -> Misuse {
    Misuse {
        what: "a program ends with this command, and its tasks with it".to_owned(),
        tried: "the command line was read; nothing was called".to_owned(),
        hint: "call it without `--detach`".to_owned(),
    }
}

/// Returns the arguments with the types that a schema gives them, and what it says of their names.
fn build(typed: Typed, schema: &Json) -> Result<(Json, NameVerdict), Vec<String>> {
    let document = SchemaDocument::new(schema);
    let (arguments, origins) = typed.by(document.schema())?;
    let verdict = schema::check_names(&document, &arguments, &origins);
    Ok((arguments, verdict))
}

/// Returns the words with the names of the schema's arguments: required ones first.
fn names_for(schema: &Json, words: &[String]) -> String {
    let document = SchemaDocument::new(schema);
    let schema = document.schema();
    let required = schema.required();
    let others = schema.properties().map(|(name, _)| name).filter(|it| !required.contains(it));
    let names = required.iter().copied().chain(others);
    let typed = names
        .zip(words)
        .map(|(name, word)| format!("{}={}", secrets::masked(name), safe::quoted(word)));
    typed.collect::<Vec<_>>().join(" ")
}

/// Returns `[#####.....]  50 %  5 of 10: copying`, as far as the server gives these values.
fn progress(step: &Progress) -> String {
    let message = step.message.as_deref().map(safe::line);
    let message = message.map(|it| format!(": {it}")).unwrap_or_default();
    let Progress { progress, total, .. } = step;
    match total {
        Some(total) if *total > 0.0 && progress.is_finite() => {
            let part = (progress / total).clamp(0.0, 1.0);
            let filled = (part * CELLS as f64) as usize;
            let bar = format!("{}{}", "#".repeat(filled), ".".repeat(CELLS - filled));
            format!("[{bar}] {:3.0} %  {progress} of {total}{message}", part * 100.0)
        }
        _ => format!("{progress}{message}"),
    }
}

const UNASKED: Hint = Hint(Cow::Borrowed(
    "the tool asks something: answer it with `--answer KEY=VALUE`, or run this on a terminal",
));
/// The hint about a name that the schema allows and that looks misspelt.
const UNCHECKED: &str = "; `--unchecked` sends it all the same";
const MOST_NAMES: usize = 20;
const AFTER: &str = "\
Examples:
  ridethrough call https://example.com/mcp search query='open issues' limit=10
  ridethrough call https://example.com/mcp search '{\"query\": \"open issues\", \"limit\": 10}'
  TOKEN=... ridethrough call https://example.com/mcp deploy --bearer-env TOKEN to=production
  ridethrough call https://example.com/mcp issue title=Broken body=@report.md labels=bug labels=urgent
  ridethrough call https://example.com/mcp search filter.state=open filter.since:=null

A value has the type that the tool's schema gives it: `limit=10` is a number where a number is
wanted and text where text is. `key:=json` is JSON whatever the schema says, `key=@file` is what
the file holds (`@-` is stdin), `a.b=c` is a member of the object `a`, and a key that is there
again is the next element of a list. Lists and objects can be written as JSON too.";
/// The width of the bar of progress.
const CELLS: usize = 20;

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_bar_shows_the_part_that_is_done() {
        let half = told(json!({"progress": 5, "total": 10, "message": "copying"}));

        assert_eq!(half, "[##########..........]  50 %  5 of 10: copying");
        assert_eq!(told(json!({"progress": 7})), "7");
    }

    #[test]
    fn absurd_numbers_and_harmful_words_do_no_harm() {
        assert!(told(json!({"progress": 1e300, "total": 1})).contains("100 %"));
        assert!(told(json!({"progress": -5, "total": 1})).contains("  0 %"));
        assert_eq!(told(json!({"progress": 1, "total": 0})), "1");
        assert!(!told(json!({"progress": 1, "message": "\u{1b}[2J\n"})).contains(['\u{1b}', '\n']));
    }

    fn told(step: Value) -> String {
        progress(&serde_json::from_value(step).unwrap())
    }
}
