//! `ridethrough read`: reads a resource and prints it.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;

use super::files::Folder;
use super::{Common, Talk, content, talk};
use crate::exit::Exit;

/// What `read` is asked for.
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
    talk(&args.common, async |talk| args.read(talk).await)
}

impl ReadArgs {
    async fn read(&self, talk: &Talk) -> Result<Exit> {
        let name = self.uri.rsplit(['/', ':']).next().unwrap_or_default();
        let folder = self.out.as_ref().map(|path| Folder::open(path, name)).transpose()?;
        let result = talk.timed(talk.client.read_resource(&self.uri)).await?;
        let words = content::contents(&result.contents, folder.as_ref())?;
        talk.print_content(folder.as_ref(), &result.json, |_| words)?;
        Ok(Exit::Done)
    }
}
