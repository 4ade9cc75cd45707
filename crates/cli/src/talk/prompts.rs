//! `ridethrough prompts`: lists the prompts of a server, with their arguments.

use anyhow::Result;
use ridethrough::model::Prompt;

use super::{Talk, joined};
use crate::ending::exit::Exit;
use crate::out::{Colour, painted};
use crate::safe;

pub(super) async fn list(talk: &Talk) -> Result<Exit> {
    let prompts = talk.timed(talk.client.prompts()).await;
    let prompts = talk.listed("prompts", prompts).await?;
    let json = || format!(r#"{{"prompts":[{}]}}"#, joined(prompts.iter().map(|it| &it.json)));
    talk.print(json, |out, is_colourful| {
        prompts.iter().try_for_each(|it| write!(out, "{}", words(it, is_colourful)))
    })?;
    if prompts.is_empty() {
        talk.terminal.say("the server has no prompts");
    }
    Ok(Exit::Done)
}

fn words(prompt: &Prompt, is_colourful: bool) -> String {
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
