//! `ridethrough resources` and `read`: lists the resources of a server and its templates of them, or prints one.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use ridethrough::call::CallName;
use ridethrough::model::{Resource, ResourceTemplate};

use super::files::Folder;
use super::{Common, Talk, content, ended_as_swapped, ending, joined, talk};
use crate::ending::exit::Exit;
use crate::out::{Colour, painted};
use crate::safe;

/// The arguments of `ridethrough read`.
#[derive(clap::Args)]
pub(crate) struct ReadArgs {
    #[command(flatten)]
    common: Common,
    /// The resource, such as `file:///notes.txt`; `ridethrough resources` lists them
    uri: String,
    /// Save pictures, sounds and other bytes into this folder; `-` writes them to stdout
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(super) fn play(args: &ReadArgs) -> Result<ExitCode> {
    // The URI of a resource may be a web page, if the server was given by name.
    let is_uri = args.common.server.contains("://");
    let swapped = || ended_as_swapped(&args.common, ["read", "resource"], &args.uri, &[]);
    if let Some(ended) = is_uri.then(swapped).flatten() {
        return ended;
    }
    talk(&args.common, async |talk| args.read(talk).await)
}

impl ReadArgs {
    async fn read(&self, talk: &Talk) -> Result<Exit> {
        let name = self.uri.rsplit(['/', ':']).next().unwrap_or_default();
        let folder = self.out.as_ref().map(|path| Folder::open(path, name)).transpose()?;
        let result = talk.timed(talk.client.read_resource(&self.uri)).await;
        let name = || CallName { method: "resources/read".into(), tool: None };
        let result = result.map_err(|error| ending::read_back(error, name(), true))?;
        let is_bytes: Vec<_> = result.contents.iter().map(content::is_blob).collect();
        let folder = talk.stdout_for(folder.as_ref(), &is_bytes).or(folder);
        let words = content::contents(&result.contents, folder.as_ref())?;
        talk.print_content(folder.as_ref(), &result.json, |_| words)?;
        Ok(Exit::Done)
    }
}

/// Lists the resources of a server, and its templates of them.
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
