//! `ridethrough task`: the tasks of a server, by the names that `call --detach` printed.

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Subcommand;
use ridethrough::model::{TaskId, TaskState, TaskStatus};
use ridethrough::server::Server;
use ridethrough::task::Task;

use super::super::ending::Hint;
use super::super::questions::{Asking, Flags};
use super::super::{Common, Talk, content, joined, talk, talk_asked};
use crate::ending::exit::Exit;
use crate::misuse::Misuse;
use crate::safe;

/// The subcommands of `ridethrough task`.
#[derive(Subcommand)]
pub(crate) enum TaskCommand {
    /// Asks a server to stop a task; whether it does, the server decides.
    Cancel(Named),
    /// Lists the tasks of a server, if it can.
    List(Common),
    /// Waits for the end of a task, and prints its result as `call` would.
    Result(Waiting),
    /// Says where a task stands.
    Status(Named),
}

/// A task of a server.
#[derive(clap::Args)]
pub(crate) struct Named {
    #[command(flatten)]
    common: Common,
    /// The task, as `call --detach` or `task list` printed it
    task: String,
}

/// A task whose result is waited for.
#[derive(clap::Args)]
pub(crate) struct Waiting {
    #[command(flatten)]
    named: Named,
    #[command(flatten)]
    questions: Flags,
}

pub(in crate::talk) fn play(command: &TaskCommand) -> Result<ExitCode> {
    match command {
        TaskCommand::Cancel(named) => talk(&named.common, async |talk| named.cancel(talk).await),
        TaskCommand::List(common) => talk(common, list),
        TaskCommand::Result(Waiting { named, questions }) => {
            let work = async |talk: &Talk| named.result(talk).await;
            talk_asked(&named.common, questions, Asking::OnTerminal, work)
        }
        TaskCommand::Status(named) => talk(&named.common, async |talk| named.status(talk).await),
    }
}

impl Named {
    /// Returns the task, if its server has any.
    async fn found(&self, talk: &Talk) -> Result<Task> {
        has_tasks(&talk.client.connect().await?)?;
        let id: TaskId = self.task.parse().map_err(|_| Misuse {
            what: "the name of the task is empty".to_owned(),
            tried: "the command line was read; nothing was asked".to_owned(),
            hint: "`call --detach` prints the name of a task, and so does `task list`".to_owned(),
        })?;
        Ok(talk.client.task(id))
    }

    async fn cancel(&self, talk: &Talk) -> Result<Exit> {
        let task = self.found(talk).await?;
        talk.timed(task.cancel()).await.with_context(|| unknown(talk))?;
        talk.print(|| r#"{"asked":"cancel"}"#.to_owned(), |_, _| Ok(()))?;
        talk.terminal
            .say("the server was asked to stop the task; `task status` says whether it did");
        Ok(Exit::Done)
    }

    async fn status(&self, talk: &Talk) -> Result<Exit> {
        let task = self.found(talk).await?;
        let state = talk.timed(task.status()).await.with_context(|| unknown(talk))?;
        talk.print(|| state.json.as_str().to_owned(), |out, _| writeln!(out, "{}", words(&state)))?;
        Ok(Exit::Done)
    }

    async fn result(&self, talk: &Talk) -> Result<Exit> {
        let task = self.found(talk).await?;
        let result = talk.followed(&task).await.with_context(|| unknown(talk))?;
        content::print(talk, &result, None, "the task")
    }
}

async fn list(talk: &Talk) -> Result<Exit> {
    let server = talk.client.connect().await?;
    has_tasks(&server)?;
    if !can(&server, &["tasks", "list"]) {
        return Err(Misuse {
            what: "the server has tasks, and cannot list them".to_owned(),
            tried: "what it says of itself was read".to_owned(),
            hint: "keep the name that `call --detach` prints".to_owned(),
        }
        .into());
    }
    let tasks = talk.timed(talk.client.tasks()).await?;
    let json = || format!(r#"{{"tasks":[{}]}}"#, joined(tasks.iter().map(|it| &it.json)));
    talk.print(json, |out, _| {
        tasks
            .iter()
            .try_for_each(|it| writeln!(out, "{}  {}", safe::line(it.id.as_str()), words(it)))
    })?;
    if tasks.is_empty() {
        talk.terminal.say("the server has no tasks of yours");
    }
    Ok(Exit::Done)
}

/// Returns wrong usage if the server has no tasks.
pub(in crate::talk) fn has_tasks(server: &Server) -> Result<(), Misuse> {
    let has_any = can(server, &["tasks"]) || can(server, &["extensions", EXTENSION]);
    has_any.then_some(()).ok_or_else(|| Misuse {
        what: "the server has no tasks".to_owned(),
        tried: "what it says of itself was read; nothing else was asked".to_owned(),
        hint: "call its tools without `--detach`".to_owned(),
    })
}

/// Returns the hint about an unknown task: a server forgets tasks, and a name is easily cut short.
fn unknown(talk: &Talk) -> Hint {
    let list = talk.spoken.command("task list", "");
    Hint(format!("`{list}` lists the tasks that it knows, if it can").into())
}

fn can(server: &Server, path: &[&str]) -> bool {
    let said = server.result.member("capabilities");
    said.and_then(|it| path.iter().try_fold(it, |json, name| json.member(name))).is_some()
}

/// Returns the state of a task: `working: compiling`.
fn words(state: &TaskState) -> String {
    let status = match state.status {
        TaskStatus::Cancelled => "cancelled",
        TaskStatus::Completed => "completed",
        TaskStatus::Failed => "failed",
        TaskStatus::InputRequired => "waits for input",
        TaskStatus::Working => "working",
        _ => "in a state that this program does not know",
    };
    let message = state.message.as_deref().filter(|it| !it.is_empty());
    let message = message.map(|it| format!(": {}", safe::line(it)));
    format!("{status}{}", message.unwrap_or_default())
}

/// The tasks extension of the stateless revision.
const EXTENSION: &str = "io.modelcontextprotocol/tasks";
