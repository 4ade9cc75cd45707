//! `ridethrough resources`: lists the resources of a server, and its templates of them.

use anyhow::Result;
use ridethrough::model::{Resource, ResourceTemplate};

use super::{Talk, joined};
use crate::ending::exit::Exit;
use crate::out::{Colour, painted};
use crate::safe;

pub(super) async fn list(talk: &Talk) -> Result<Exit> {
    let resources = talk.timed(talk.client.resources()).await;
    let resources = talk.listed("resources", resources).await?;
    let templates = talk.timed(talk.client.resource_templates()).await;
    let templates = match templates {
        // Many servers with resources do not know the method for templates.
        Err(error) if error.server().is_some_and(|it| it.rpc.code == METHOD_NOT_FOUND) => {
            Vec::new()
        }
        templates => talk.listed("resources", templates).await?,
    };
    let json = || {
        let resources = joined(resources.iter().map(|it| &it.json));
        let templates = joined(templates.iter().map(|it| &it.json));
        format!(r#"{{"resources":[{resources}],"resourceTemplates":[{templates}]}}"#)
    };
    talk.print(json, |out, is_colourful| {
        resources.iter().try_for_each(|it| write!(out, "{}", words(it, is_colourful)))?;
        templates.iter().try_for_each(|it| write!(out, "{}", template(it, is_colourful)))
    })?;
    if resources.is_empty() && templates.is_empty() {
        talk.terminal.say("the server has no resources");
    }
    Ok(Exit::Done)
}

fn words(it: &Resource, is_colourful: bool) -> String {
    let size = it.size.map(|size| format!("{size} bytes"));
    let facts: Vec<_> = it.mime_type.clone().into_iter().chain(size).collect();
    let name = it.title.as_deref().unwrap_or(&it.name);
    entry(&it.uri, name, &facts.join(", "), it.description.as_deref(), is_colourful)
}

fn template(it: &ResourceTemplate, is_colourful: bool) -> String {
    let kind = it.mime_type.as_deref();
    let facts = kind.map_or_else(|| "template".to_owned(), |kind| format!("template, {kind}"));
    let name = it.title.as_deref().unwrap_or(&it.name);
    entry(&it.uri_template, name, &facts, it.description.as_deref(), is_colourful)
}

fn entry(uri: &str, name: &str, facts: &str, about: Option<&str>, is_colourful: bool) -> String {
    let uri = painted(&safe::line(uri), Colour::Bold, is_colourful);
    let facts = if facts.is_empty() { String::new() } else { format!("  ({})", safe::line(facts)) };
    let about = about.filter(|it| !it.trim().is_empty());
    let about = about.map(|it| format!("    {}\n", safe::line(it))).unwrap_or_default();
    format!("{uri}  {}{facts}\n{about}", safe::line(name))
}

const METHOD_NOT_FOUND: i64 = -32601;
