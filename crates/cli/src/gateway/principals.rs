//! Tokens of principals: a file with a hash for each, and the commands that change it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use ridethrough_bridge::disk;
use ridethrough_config::folders;
use ridethrough_server::{Principal, Token, TokenHash};

use crate::misuse::Misuse;
use crate::out;
use crate::safe;

/// What is done with tokens.
#[derive(clap::Subcommand)]
pub(super) enum TokenCommand {
    /// Makes a token for a principal, and prints it: it is shown only here.
    Add {
        /// The name of the principal, as in `[gateway.access.principals.NAME]`
        name: String,
        #[command(flatten)]
        file: TokenFile,
    },
    /// Prints the names of the principals that have tokens.
    List {
        #[command(flatten)]
        file: TokenFile,
    },
    /// Takes all tokens of a principal away.
    Remove {
        /// The name of the principal
        name: String,
        #[command(flatten)]
        file: TokenFile,
    },
}

/// Where tokens are kept.
#[derive(clap::Args)]
pub(super) struct TokenFile {
    /// The file with the hashes of tokens, as `tokens` of `[gateway.access]` names it [default: one of your own]
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

/// The hashes of tokens by the names of principals. A principal may have several.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PrincipalTokens(BTreeMap<String, Vec<String>>);

impl TokenCommand {
    pub(super) fn run(&self) -> Result<ExitCode> {
        match self {
            Self::Add { name, file } => add(name, &file.path()?),
            Self::List { file } => {
                let tokens = PrincipalTokens::read(&file.path()?)?;
                out::print(|out| {
                    tokens.0.iter().try_for_each(|(name, hashes)| {
                        let count = hashes.len();
                        let plural = if count == 1 { "" } else { "s" };
                        writeln!(out, "{}: {count} token{plural}", safe::line(name))
                    })
                })
            }
            Self::Remove { name, file } => remove(name, &file.path()?),
        }
    }
}

impl TokenFile {
    fn path(&self) -> Result<PathBuf, Misuse> {
        match &self.file {
            Some(path) => Ok(path.clone()),
            None => default_path(),
        }
    }
}

/// Returns the file of this user.
pub(super) fn default_path() -> Result<PathBuf, Misuse> {
    let folder = folders::state();
    let none = || wrong("this user has no folder of its own to keep tokens in".to_owned());
    folder.map(|it| it.join(NAME)).ok_or_else(none)
}

fn add(name: &str, path: &Path) -> Result<ExitCode> {
    if name.is_empty() || name == "*" || name.chars().any(ridethrough_bridge::is_harmful) {
        let what = "a principal has a name of visible characters, and it is not `*`";
        return Err(wrong(what.to_owned()).into());
    }
    let mut tokens = PrincipalTokens::read(path)?;
    let token = Token::random().map_err(|why| wrong(format!("no token can be made: {why}")))?;
    let hashes = tokens.0.entry(name.to_owned()).or_default();
    let is_another = !hashes.is_empty();
    hashes.push(TokenHash::of_token(&token).to_string());
    tokens.write(path)?;
    let name = safe::line(name);
    eprintln!(
        "`{name}` has {} token, which is shown only here; a gateway that runs knows it in 2 s",
        if is_another { "another" } else { "a" }
    );
    eprintln!(
        "it may call what the config file grants: [gateway.access.principals.{}] with `allow`",
        toml_key(&name)
    );
    out::print(|out| writeln!(out, "{}", token.reveal()))
}

fn remove(name: &str, path: &Path) -> Result<ExitCode> {
    let mut tokens = PrincipalTokens::read(path)?;
    if tokens.0.remove(name).is_none() {
        return Err(wrong(format!("`{}` has no token", safe::line(name))).into());
    }
    tokens.write(path)?;
    eprintln!("`{}` has no token any more; a gateway that runs knows it in 2 s", safe::line(name));
    Ok(ExitCode::SUCCESS)
}

impl PrincipalTokens {
    /// Reads the file; a file that is not there has no tokens.
    pub(super) fn read(path: &Path) -> Result<Self, Misuse> {
        let shown = safe::path(path);
        let kept = disk::read(path, MOST).map_err(|why| wrong(format!("`{shown}`: {why}")))?;
        let Some(text) = kept else { return Ok(Self::default()) };
        let unreadable = || wrong(format!("`{shown}` is not a file of tokens"));
        let tokens: BTreeMap<String, Vec<String>> =
            serde_json::from_slice(&text).map_err(|_| unreadable())?;
        if tokens.values().flatten().any(|hash| TokenHash::parse(hash).is_none()) {
            return Err(unreadable());
        }
        Ok(Self(tokens))
    }

    fn write(&self, path: &Path) -> Result<(), Misuse> {
        let text = serde_json::to_string_pretty(&self.0).expect("names and hashes are JSON");
        let shown = safe::path(path);
        disk::write(path, text.as_bytes()).map_err(|why| wrong(format!("`{shown}`: {why}")))
    }

    /// Returns each hash with its principal.
    pub(super) fn hashes(&self) -> Vec<(TokenHash, Principal)> {
        let pairs = self.0.iter().flat_map(|(name, hashes)| {
            let known = hashes.iter().filter_map(|hash| TokenHash::parse(hash));
            known.map(|hash| (hash, Principal::new(name)))
        });
        pairs.collect()
    }

    /// Whether this principal has a token.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }
}

/// Returns a name as it is written in TOML.
fn toml_key(name: &str) -> String {
    let is_bare = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_');
    if name.chars().all(is_bare) { name.to_owned() } else { format!("{name:?}") }
}

fn wrong(what: String) -> Misuse {
    Misuse {
        what,
        tried: "nothing was changed".to_owned(),
        hint: "`ridethrough gateway token list` says who has tokens".to_owned(),
    }
}

const NAME: &str = "gateway-tokens.json";
const MOST: u64 = 4 << 20;
