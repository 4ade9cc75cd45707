//! `ridethrough read`: reads a resource and prints it.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use ridethrough::call::CallName;

use super::files::Folder;
use super::{Common, Talk, content, ended_as_swapped, talk, told_doubt};
use crate::ending::exit::Exit;

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
        let result = result.map_err(|error| told_doubt::read_back(error, name(), true))?;
        let is_bytes: Vec<_> = result.contents.iter().map(content::is_blob).collect();
        let folder = talk.stdout_for(folder.as_ref(), &is_bytes).or(folder);
        let words = content::contents(&result.contents, folder.as_ref())?;
        talk.print_content(folder.as_ref(), &result.json, |_| words)?;
        Ok(Exit::Done)
    }
}
