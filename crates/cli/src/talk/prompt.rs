//! `ridethrough prompts` and `prompt`: lists prompts with their arguments, or fills one in and prints its messages.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use ridethrough::Json;
use ridethrough::call::CallName;
use ridethrough::model::{Prompt, PromptResult, Role};

use super::arguments;
use super::files::Folder;
use super::{Common, Talk, content, ended_as_swapped, ending, joined, talk};
use crate::ending::exit::Exit;
use crate::misuse::Misuse;
use crate::near;
use crate::out::{Colour, painted};
use crate::safe;
use crate::secrets;

/// The arguments of `ridethrough prompt`.
#[derive(clap::Args)]
pub(crate) struct PromptArgs {
    #[command(flatten)]
    common: Common,
    /// The prompt; `ridethrough prompts` lists them
    name: String,
    /// What to fill in: `key=value` or `key=@file` for each
    arguments: Vec<String>,
    /// Save pictures, sounds and other bytes into this folder; `-` writes them to stdout
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(super) fn play(args: &PromptArgs) -> Result<ExitCode> {
    let order = ["prompt", "prompt"];
    if let Some(ended) = ended_as_swapped(&args.common, order, &args.name, &args.arguments) {
        return ended;
    }
    talk(&args.common, async |talk| args.ask(talk).await)
}

/// Lists the prompts of a server, with their arguments.
pub(super) async fn list(talk: &Talk) -> Result<Exit> {
    let prompts = talk.timed(talk.client.prompts()).await;
    let prompts = talk.listed("prompts", prompts).await?;
    let json = || format!(r#"{{"prompts":[{}]}}"#, joined(prompts.iter().map(|it| &it.json)));
    talk.print(json, |out, is_colourful| {
        prompts.iter().try_for_each(|it| write!(out, "{}", listed(it, is_colourful)))
    })?;
    if prompts.is_empty() {
        talk.terminal.say("the server has no prompts");
    }
    Ok(Exit::Done)
}

impl PromptArgs {
    async fn ask(&self, talk: &Talk) -> Result<Exit> {
        let pairs = match arguments::texts(&self.arguments) {
            Ok(pairs) => pairs,
            Err(fault) => {
                let fault = self.with_names(talk, fault).await;
                return Err(self.misuse(talk, &[fault]).into());
            }
        };
        let folder = self.out.as_ref().map(|path| Folder::open(path, &self.name)).transpose()?;
        let prompts = talk.timed(talk.client.prompts()).await;
        let prompts = talk.listed("prompts", prompts).await?;
        let faults = self.faults(&pairs, &prompts);
        if !faults.is_empty() {
            return Err(self.misuse(talk, &faults).into());
        }
        let members =
            pairs.into_iter().map(|(key, text)| (key, Json::of(&text).expect("a string is JSON")));
        let given = Json::empty_object().with_members(members);
        let result = talk.timed(talk.client.get_prompt(&self.name, given)).await;
        let name = || CallName { method: "prompts/get".into(), tool: None };
        let result = result.map_err(|error| ending::read_back(error, name(), true))?;
        let pieces = result.messages.iter().flat_map(|it| &it.content);
        // The speaker of each message is text too, so bytes are never the only piece.
        let is_bytes: Vec<_> = pieces.map(content::is_bytes).chain([false]).collect();
        talk.stdout_for(folder.as_ref(), &is_bytes);
        let messages = messages(&result, folder.as_ref())?;
        talk.print_content(folder.as_ref(), &result.json, |is_colourful| {
            let said = messages.iter().map(|(role, words)| {
                format!("{}\n{words}", painted(role, Colour::Bold, is_colourful))
            });
            said.collect()
        })?;
        Ok(Exit::Done)
    }

    /// Returns the fault of what was typed; words without names get those of the prompt's arguments, in their
    /// order.
    async fn with_names(&self, talk: &Talk, fault: String) -> String {
        if let Some(spelling) = arguments::spelling(&self.arguments) {
            return format!("{fault}; {spelling}");
        }
        let unnamed: Vec<_> =
            self.arguments.iter().filter(|it| arguments::is_unnamed(it)).collect();
        if unnamed.is_empty() {
            return fault;
        }
        // If the prompts cannot be listed, the fault is reported without names.
        let prompts = talk.timed(talk.client.prompts()).await.unwrap_or_default();
        let prompt = prompts.iter().find(|prompt| prompt.name == self.name);
        let names = prompt.into_iter().flat_map(|it| &it.arguments);
        let typed = names.zip(unnamed).map(|(argument, word)| {
            format!("{}={}", secrets::masked(&argument.name), safe::quoted(word))
        });
        let typed = typed.collect::<Vec<_>>().join(" ");
        let by_name = arguments::BY_NAME;
        if typed.is_empty() { fault } else { format!("{fault}; {by_name}: `{typed}`") }
    }

    /// Returns the faults of the arguments.
    fn faults(&self, pairs: &[(String, String)], prompts: &[Prompt]) -> Vec<String> {
        let Some(prompt) = prompts.iter().find(|prompt| prompt.name == self.name) else {
            let names: Vec<_> = prompts.iter().map(|it| it.name.as_str()).collect();
            if names.is_empty() {
                return vec!["the server has no prompts".to_owned()];
            }
            let meant = near::question(&self.name, names.iter().copied());
            let meant = meant.map(|it| format!("; {it}")).unwrap_or_default();
            let told = format!("{}{meant}", names.join(", "));
            return vec![format!(
                "the server lists no such prompt, but {}",
                secrets::masked(&told)
            )];
        };
        let known = |key: &str| prompt.arguments.iter().any(|it| it.name == key);
        let is_given = |name: &str| pairs.iter().any(|(key, _)| key == name);
        let missing = prompt.arguments.iter().filter(|it| it.required && !is_given(&it.name));
        let missing = missing.map(|it| {
            let about = it.description.as_deref().map(|it| format!(" ({it})")).unwrap_or_default();
            secrets::masked(&format!("`{}` is missing{about}", it.name))
        });
        let unknown = pairs.iter().filter(|(key, _)| !known(key));
        missing.chain(unknown.map(|(key, _)| format!("`{key}` is not known"))).collect()
    }

    fn misuse(&self, talk: &Talk, faults: &[String]) -> Misuse {
        let faults: Vec<_> = faults.iter().map(|fault| safe::our_line(fault)).collect();
        Misuse {
            what: format!("`{}` cannot be filled in so: {}", self.name, faults.join("\n  and: ")),
            tried: "the arguments were checked; the prompt was not asked for".to_owned(),
            hint: format!("`{}` shows what each prompt takes", talk.spoken.command("prompts", "")),
        }
    }
}

/// Returns the speaker and the words of each message.
fn messages(result: &PromptResult, folder: Option<&Folder>) -> Result<Vec<(&'static str, String)>> {
    let said = result.messages.iter().map(|message| {
        let role = match message.role {
            Role::Assistant => "assistant:",
            Role::User => "user:",
        };
        Ok((role, content::words(&message.content, folder)?))
    });
    said.collect()
}

fn listed(prompt: &Prompt, is_colourful: bool) -> String {
    let mut words = painted(&safe::line(&prompt.name), Colour::Bold, is_colourful);
    words.push('\n');
    let texts = [prompt.description.as_deref(), prompt.title.as_deref()];
    if let Some(about) = texts.into_iter().flatten().find(|it| !it.trim().is_empty()) {
        words += &format!("    {}\n", safe::line(about));
    }
    for argument in &prompt.arguments {
        let need = if argument.required { ", required" } else { "" };
        let texts = [argument.description.as_deref(), argument.title.as_deref()];
        let about = texts.into_iter().flatten().find(|it| !it.trim().is_empty());
        let about = about.map(|it| format!(": {}", safe::line(it))).unwrap_or_default();
        words += &format!("  {}=string{need}{about}", safe::line(&argument.name));
        words.push('\n');
    }
    words
}
