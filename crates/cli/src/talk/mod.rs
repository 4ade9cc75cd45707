//! The commands that talk to a server, one file each.
//!
//! They share what is here: the flags, a client, a task that shows what happens meanwhile, and the way from
//! an outcome to words and an exit code. stdout is data, stderr is for people, and the words of a server are
//! printed only after they went through `safe`.

mod arguments;
mod aside;
mod call;
mod content;
pub(crate) mod ending;
mod files;
mod log;
mod origins;
mod ping;
mod prompt;
mod questions;
mod resources;
mod schema;
mod task;
mod teller;
mod tool_page;
mod tools;
mod watch;

use std::env;
use std::io::{self, Write};
use std::pin::pin;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Subcommand;
use ridethrough::model::Tool;
use ridethrough::task::Task;
use ridethrough::{Client, Error, Json};
use ridethrough_terminal::stderr::Terminal;
use ridethrough_terminal::stray_line::StrayLine;
use tokio::runtime;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::ending::exit::Exit;
use crate::ending::next_step::Spoken;
use crate::near;
use crate::options::{Options, Settings};
use crate::safe;
use crate::server::program;
use crate::server::target::{self, Target};
use crate::server::tool_names;
use crate::wrong_usage::{swapped, unexpanded};
use crate::{out, secrets, until};
use aside::Timed;
use files::Folder;
use questions::{Asking, Questions};
pub use tools::{SchemaRehearsal, rehearse_schema};

#[derive(Subcommand)]
pub(crate) enum TalkCommand {
    /// Calls a tool and prints what it answers.
    Call(call::CallArgs),
    /// Asks a server whether it is there, and how long that takes.
    Ping(ping::PingArgs),
    /// Fills in a prompt and prints its messages.
    Prompt(prompt::PromptArgs),
    /// Lists the prompts of a server.
    Prompts(Common),
    /// Reads a resource and prints it.
    Read(resources::ReadArgs),
    /// Lists the resources of a server, and its templates of them.
    Resources(Common),
    /// Follows tasks: calls that a server goes on with by itself, made by `call --detach`.
    #[command(subcommand)]
    Task(task::TaskCommand),
    /// Lists the tools of a server with their arguments, or shows one of them whole.
    Tools(tools::ToolsArgs),
    /// Stays connected, and tells everything that happens until it is stopped.
    Watch(watch::WatchArgs),
}

/// Runs a command that talks to a server.
pub(crate) fn play(command: &TalkCommand) -> Result<ExitCode> {
    match command {
        TalkCommand::Call(args) => call::play(args),
        TalkCommand::Ping(args) => ping::play(args),
        TalkCommand::Prompt(args) => prompt::play(args),
        TalkCommand::Prompts(common) => talk(common, prompt::list),
        TalkCommand::Read(args) => resources::play(args),
        TalkCommand::Resources(common) => talk(common, resources::list),
        TalkCommand::Task(command) => task::play(command),
        TalkCommand::Tools(args) => tools::play(args),
        TalkCommand::Watch(args) => watch::play(args),
    }
}

/// The arguments that every such command takes.
#[derive(clap::Args)]
pub(crate) struct Common {
    /// The server: a URL such as `https://example.com/mcp`, or its name in the config file of an MCP host;
    /// or a program to start, behind everything else: `-- npx -y some-server`
    server: String,
    /// Print JSON for machines; errors too
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    options: Options,
}

/// A running command: its client, and its settings.
struct Talk {
    /// The server, as it was typed.
    server: String,
    /// The server in the words of its user, for hints.
    spoken: Spoken,
    /// Whether the server is a program, which ends with the command.
    is_program: bool,
    /// The first stray line on stdout, if the server is a program.
    stray_line: StrayLine,
    client: Client,
    terminal: Arc<Terminal>,
    /// The answers to the server's questions.
    questions: Arc<Questions>,
    /// The task that shows what happens meanwhile.
    teller: AbortHandle,
    settings: Settings,
    is_json: bool,
    /// When the client was made: moments of the client count from there.
    born: Instant,
    /// When the command's time is over.
    ends: Option<Instant>,
    /// Whether a tool was called, whose run may outlive this process.
    is_tool_called: AtomicBool,
    /// The task of the server that is being waited for.
    task: Mutex<Option<Arc<Task>>>,
}

/// Talks to a server from beginning to end, and reports the outcome. On a terminal the server may ask
/// questions.
fn talk(common: &Common, work: impl AsyncFnOnce(&Talk) -> Result<Exit>) -> Result<ExitCode> {
    talk_asked(common, &questions::Flags::default(), Asking::OnTerminal, work)
}

/// Talks to a server, with answers from the command line.
fn talk_asked(
    common: &Common,
    flags: &questions::Flags,
    asking: Asking,
    work: impl AsyncFnOnce(&Talk) -> Result<Exit>,
) -> Result<ExitCode> {
    let ended = hold(common, flags, asking, work);
    ending::tell(ended, common.json)
}

/// Reports a command whose server was typed behind the word that is asked of it, `second`.
fn ended_as_swapped(
    common: &Common,
    [command, what]: [&str; 2],
    second: &str,
    rest: &[String],
) -> Option<Result<ExitCode>> {
    let misuse = swapped(command, what, [&common.server, second], rest)?;
    Some(ending::tell(Err(misuse.into()), common.json))
}

fn hold(
    common: &Common,
    flags: &questions::Flags,
    asking: Asking,
    work: impl AsyncFnOnce(&Talk) -> Result<Exit>,
) -> Result<ExitCode> {
    let settings = common.options.settings()?;
    let target = target::resolve(&common.server)
        .map_err(|misuse| program::advised(misuse, &common.server))?;
    let is_program = target.address().is_none();
    let runtime = runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("no threads could be started")?;
    let ended = runtime.block_on(async {
        let terminal = Arc::new(Terminal::default());
        let questions = Questions::new(flags, asking, target.to_string(), terminal.clone())?;
        let client = settings.client(&target, |builder| questions.declare(builder))?;
        let born = Instant::now();
        let ends = settings.timeout.map(|time| born + time);
        notes_on(&target, &settings).iter().for_each(|note| terminal.say(note));
        let teller = teller::start(&client, terminal.clone(), &target, settings.verbose);
        questions::refuse_unanswered(&client, terminal.clone());
        let talk = Talk {
            server: common.server.clone(),
            spoken: target.spoken().with_flags(common.options.typed()),
            is_program,
            stray_line: target.stray_line(),
            client,
            terminal,
            questions,
            teller,
            settings,
            is_json: common.json,
            born,
            ends,
            is_tool_called: AtomicBool::new(false),
            task: Mutex::default(),
        };
        talk.through(work).await
    });
    if is_program {
        // A program that did not leave in time is killed when its tasks are dropped, which takes a moment.
        runtime.shutdown_timeout(LAST_WORDS);
    } else {
        // Whatever is still under way, such as a name lookup, is of no interest any more.
        runtime.shutdown_background();
    }
    ended.map_err(|error| {
        let spoken = target.spoken().with_flags(common.options.typed());
        if error.is::<Error>() { error.context(ending::With(spoken)) } else { error }
    })
}

impl Talk {
    /// Does the work, or stops at a signal; closes the client in either case.
    async fn through(&self, work: impl AsyncFnOnce(&Self) -> Result<Exit>) -> Result<ExitCode> {
        let ended = self.worked(work).await;
        self.terminal.done();
        // A server that does not answer cannot make this take longer.
        let _ = timeout(self.time_for_goodbye(), self.client.close()).await;
        // The events end with the client; the last ones are still shown.
        let told = async {
            while !self.teller.is_finished() {
                sleep(Duration::from_millis(1)).await;
            }
        };
        let _ = timeout(LAST_WORDS, told).await;
        self.teller.abort();
        self.terminal.clear();
        teller::wait_for_renewal(&self.settings, &self.terminal).await;
        if let Err(error) = &ended {
            self.stray_line.was_told(&error.to_string());
            self.stray_line.take().iter().for_each(|words| {
                self.terminal.say(&format!("warning: {}", safe::our_line(words)))
            });
        }
        if let Some(words) = self.questions.last_words() {
            self.terminal.say(&words);
        }
        if secrets::was_masked() {
            self.terminal.say(MASKED);
        }
        match ended {
            // The server has its answer and may have done its work, but not what was wanted.
            Ok(ExitCode::SUCCESS) if self.questions.is_misfit() => Ok(Exit::Failure.into()),
            ended => ended,
        }
    }

    /// Returns how long the end of a session may take: a command whose time is over only sends the request.
    fn time_for_goodbye(&self) -> Duration {
        let longest = if self.is_program { PROGRAM_GOODBYE } else { GOODBYE };
        let left = self.ends.map(|ends| ends.saturating_duration_since(Instant::now()));
        left.map_or(longest, |left| left.clamp(SHORTEST_GOODBYE, longest))
    }

    /// Does the work, unless a signal stops it. The first Ctrl-C during an open question only declines the
    /// question.
    async fn worked(&self, work: impl AsyncFnOnce(&Self) -> Result<Exit>) -> Result<ExitCode> {
        let mut working = pin!(work(self));
        let mut asked = Box::pin(until::asked());
        loop {
            let code = tokio::select! {
                ended = &mut working => return ended.map(ExitCode::from),
                code = &mut asked => code,
            };
            // Before the next question is shown, so that a Ctrl-C that declines it at once is noticed too.
            asked = Box::pin(until::asked());
            if code == CTRL_C && self.questions.stop_question() {
                continue;
            }
            self.terminal.clear();
            let tool = self.is_tool_called.load(Relaxed);
            let may_have_run = if tool { "; the server may have run the tool" } else { "" };
            let words = format!("stopped: what was under way is cancelled{may_have_run}");
            self.terminal.say(&format!("\n{words}"));
            if self.is_json {
                ending::print_stopped(&words, tool, code)?;
            }
            self.cancel_task().await;
            return Ok(ExitCode::from(code));
        }
    }

    /// Lists the tools, and keeps their names for shell completion.
    async fn tools(&self) -> Result<Vec<Tool>> {
        let tools = self.listed("tools", self.timed(self.client.tools()).await).await?;
        tool_names::keep(&self.server, tools.iter().map(|tool| tool.name.as_str()));
        Ok(tools)
    }

    /// Returns the list. An error of a server that does not declare `what` means an empty list: it may not
    /// know the method.
    async fn listed<T>(&self, what: &str, listed: Result<Vec<T>, Error>) -> Result<Vec<T>> {
        if let Err(Error::Server(_)) = &listed
            && self.client.connect().await.is_ok_and(|server| !server.can(what))
        {
            return Ok(Vec::new());
        }
        Ok(listed?)
    }

    fn task(&self) -> MutexGuard<'_, Option<Arc<Task>>> {
        // Each change is one assignment, so a poisoned lock holds a whole value.
        self.task.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Limits a call or a list to the time that is left.
    fn timed<T: Timed>(&self, asked: T) -> T {
        match self.ends {
            Some(ends) => asked.within(ends.saturating_duration_since(Instant::now())),
            None => asked,
        }
    }

    /// Writes content; if bytes go to stdout they are alone there, and words go to stderr.
    fn print_content(
        &self,
        folder: Option<&Folder>,
        json: &Json,
        words: impl FnOnce(bool) -> String,
    ) -> Result<()> {
        let Some(bytes) = files::streamed(folder).filter(|_| !self.is_json) else {
            return self.print(
                || json.as_str().to_owned(),
                |out, is_colourful| write!(out, "{}", words(is_colourful)),
            );
        };
        self.terminal.clear();
        self.terminal.say(safe::our_text(&words(false)).trim_end());
        out::print(|out| out.write_all(&bytes))?;
        Ok(())
    }

    /// Writes data: unchanged for machines, or in words.
    fn print(
        &self,
        json: impl FnOnce() -> String,
        words: impl FnOnce(&mut dyn Write, bool) -> io::Result<()>,
    ) -> Result<()> {
        self.terminal.clear();
        let is_colourful = out::is_colourful(&io::stdout());
        out::print(|out| {
            if self.is_json {
                writeln!(out, "{}", out::json(&safe::json(&json())))
            } else {
                words(out, is_colourful)
            }
        })?;
        Ok(())
    }
}

/// Returns what a person is told before anything is sent.
pub(crate) fn notes_on(target: &Target, settings: &Settings) -> Vec<String> {
    let literal = unexpanded(env::args_os()).into_iter().map(|it| safe::our_line(&it));
    let shown = || safe::our_line(&format!("{target}: {}", settings.shown()));
    let notes = target.notes().into_iter().chain(settings.warning(target)).chain(literal);
    let notes = notes.chain(settings.told_sources());
    notes.chain((settings.verbose >= 3).then(shown)).collect()
}

/// Returns a question whether a tool of a similar name was meant.
fn nearest_tool(name: &str, tools: &[Tool]) -> Option<String> {
    near::question(name, tools.iter().map(|tool| tool.name.as_str())).map(|it| safe::line(&it))
}

/// Joins the members of a list, each as the server wrote it.
fn joined<'a>(members: impl Iterator<Item = &'a Json>) -> String {
    members.map(Json::as_str).collect::<Vec<_>>().join(",")
}

const MASKED: &str = "note: what the server repeated of your token, your headers or the URL's query is shown as `...`";
/// How long the end of a session may take.
const GOODBYE: Duration = Duration::from_secs(1);
/// How long the end of a program may take. A program that stays when its stdin ends is asked to leave after
/// two seconds, and killed a while later.
const PROGRAM_GOODBYE: Duration = Duration::from_secs(4);
/// The shortest time for a goodbye: enough to write one request to a server that is near.
const SHORTEST_GOODBYE: Duration = Duration::from_millis(100);
/// The exit code of a command that Ctrl-C stopped.
const CTRL_C: u8 = 130;
const LAST_WORDS: Duration = Duration::from_millis(100);
