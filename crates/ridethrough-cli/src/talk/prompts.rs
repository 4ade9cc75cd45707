//! `ridethrough prompts`: the prompts of a server, with what they can be filled in with.

use anyhow::Result;
use ridethrough::model::Prompt;

use super::{Talk, joined, safe};
use crate::exit::Exit;
use crate::out::{Colour, painted};

pub(super) async fn list(talk: &Talk) -> Result<Exit> {
    let prompts = talk.timed(talk.client.prompts()).await?;
    let json = || format!(r#"{{"prompts":[{}]}}"#, joined(prompts.iter().map(|it| &it.json)));
    talk.print(json, |out, is_colourful| {
        prompts.iter().try_for_each(|it| write!(out, "{}", words(it, is_colourful)))
    })?;
    if prompts.is_empty() {
        talk.desk.say("the server has no prompts");
    }
    Ok(Exit::Done)
}

fn words(prompt: &Prompt, is_colourful: bool) -> String {
    let mut words = painted(&safe::line(&prompt.name), Colour::Bold, is_colourful);
    words.push('\n');
    if let Some(about) = prompt.description.as_deref().or(prompt.title.as_deref()) {
        words += &format!("    {}\n", safe::line(about));
    }
    for argument in &prompt.arguments {
        let need = if argument.required { ", required" } else { "" };
        let about = argument.description.as_deref().or(argument.title.as_deref());
        let about = about.map(|it| format!(": {it}")).unwrap_or_default();
        words += &safe::line(&format!("  {}=string{need}{about}", argument.name));
        words.push('\n');
    }
    words
}
