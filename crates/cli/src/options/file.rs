//! Settings from `ridethrough.toml`: the keys are the names of the flags.
//!
//! Values are read by hand, so that an error about a value does not repeat it.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use toml::{Table, Value};

use super::environment::{ERAS, POLICIES};
use super::hint::{self, HINTS};
use super::project::NAME;
use super::{EraChoice, Layer, Policy, seconds, size};
use crate::import::meant_key;
use crate::misuse::Misuse;
use crate::platform::Platform;

/// Returns where the user's own file may be.
pub(crate) fn users() -> Option<PathBuf> {
    let folder = |name: &str| env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    users_on(Platform::here(), folder)
}

fn users_on(platform: Platform, folder: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let user = match platform {
        Platform::MacOs | Platform::Unix => {
            folder("XDG_CONFIG_HOME").or_else(|| folder("HOME").map(|home| home.join(".config")))
        }
        Platform::Windows => folder("APPDATA"),
    };
    user.map(|folder| folder.join("ridethrough").join(NAME))
}

/// Reads a file; a missing file has no settings.
pub(super) fn read(path: &Path) -> Result<Layer, Misuse> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if is_absent(&error) => return Ok(Layer::default()),
        Err(error) => return Err(wrong(path, &format!("it cannot be read: {error}"))),
    };
    let mut layer = parse(&text).map_err(|fault| wrong(path, &fault))?;
    // The user's file counts in every folder, so paths in it are relative to the file.
    layer.cacert = layer.cacert.map(|it| path.parent().unwrap_or(path).join(it));
    Ok(layer)
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

pub(super) fn parse(text: &str) -> Result<Layer, String> {
    let table: Table = text.parse().map_err(|error: toml::de::Error| {
        // The parser's message quotes the file, which may show a secret; the position is enough.
        let start = error.span().map_or(0, |span| span.start);
        let line = text.get(..start).unwrap_or_default().matches('\n').count() + 1;
        format!("line {line} is not TOML")
    })?;
    let mut layer = Layer::default();
    for (key, value) in table {
        take(&mut layer, &key, value).map_err(|fault| match fault {
            Fault::Unknown => format!("`{key}` is not known; known are {}", KNOWN.join(", ")),
            Fault::Misspelt { place, meant } => {
                format!("`{place}` is not known; did you mean `{meant}`?")
            }
            Fault::Wrong(bound) => format!("`{key}` {bound}"),
        })?;
    }
    Ok(layer)
}

enum Fault {
    /// A misspelt key of a server.
    Misspelt {
        place: String,
        meant: &'static str,
    },
    Unknown,
    Wrong(&'static str),
}

fn take(layer: &mut Layer, key: &str, value: Value) -> Result<(), Fault> {
    match (key, value) {
        ("bearer-env", Value::String(name)) => layer.bearer_env = Some(name),
        ("bearer-env", _) => return Err(Fault::Wrong("must be the name of a variable, a string")),
        ("cacert", Value::String(path)) => layer.cacert = Some(path.into()),
        ("cacert", _) => return Err(Fault::Wrong("must be the name of a file, a string")),
        ("era", value) => {
            let era = value.as_str().and_then(|it| EraChoice::from_str(it, false).ok());
            layer.era = Some(era.ok_or(Fault::Wrong(ERAS))?);
        }
        // Read by the gateway alone.
        ("gateway", Value::Table(_)) => {}
        ("gateway", _) => return Err(Fault::Wrong("must be a table")),
        ("header", value) => layer.headers = strings(value)?,
        ("hint", value) => {
            let said = strings(value)?.into_iter().map(|text| hint::parse(&text).ok());
            layer.hints = said.collect::<Option<_>>().ok_or(Fault::Wrong(HINTS))?;
        }
        ("max-message", value) => {
            let text = match value {
                Value::Integer(number) => number.to_string(),
                Value::String(text) => text,
                _ => return Err(Fault::Wrong(size::BOUNDS)),
            };
            layer.max_message = Some(size::bytes(&text).map_err(|_| Fault::Wrong(size::BOUNDS))?);
        }
        ("policy", value) => {
            let policy = value.as_str().and_then(|it| Policy::from_str(it, false).ok());
            layer.policy = Some(policy.ok_or(Fault::Wrong(POLICIES))?);
        }
        ("profile", Value::String(name)) => layer.profile = Some(name),
        ("profile", _) => return Err(Fault::Wrong("must be the name of an account, a string")),
        ("repeatable", value) => layer.repeatable = strings(value)?,
        // Servers are read when their name is typed.
        ("servers", Value::Table(servers)) => misspelt(&servers)?,
        ("servers", _) => return Err(Fault::Wrong("must be a table of servers")),
        ("timeout", value) => {
            let number = match value {
                Value::Float(number) => number.to_string(),
                Value::Integer(number) => number.to_string(),
                _ => return Err(Fault::Wrong(SECONDS)),
            };
            layer.timeout = Some(seconds(&number).map_err(|_| Fault::Wrong(SECONDS))?);
        }
        ("verbose", value) => {
            let count = value.as_integer().and_then(|it| u8::try_from(it).ok());
            layer.verbose = Some(count.ok_or(Fault::Wrong("must be a number, 0 to 3"))?);
        }
        _ => return Err(Fault::Unknown),
    }
    Ok(())
}

/// Refuses keys that are nearly a key of a server. Entries are pasted from other hosts, whose other keys are
/// ignored here.
fn misspelt(servers: &Table) -> Result<(), Fault> {
    for (name, server) in servers {
        for key in server.as_table().into_iter().flat_map(Table::keys) {
            if let Some(meant) = meant_key(key) {
                return Err(Fault::Misspelt { place: format!("servers.{name}.{key}"), meant });
            }
        }
    }
    Ok(())
}

fn strings(value: Value) -> Result<Vec<String>, Fault> {
    let wrong = Fault::Wrong("must be a list of strings");
    let Value::Array(items) = value else { return Err(wrong) };
    let strings = items.into_iter().map(|item| match item {
        Value::String(text) => Some(text),
        _ => None,
    });
    strings.collect::<Option<_>>().ok_or(wrong)
}

pub(super) fn wrong(path: &Path, fault: &str) -> Misuse {
    Misuse {
        what: format!("`{}` cannot be used: {fault}", path.display()),
        tried: "the settings were read; nothing was sent".to_owned(),
        hint: "mend the file: its keys are the names of the flags, see `ridethrough call --help`"
            .to_owned(),
    }
}

const SECONDS: &str = "must be a number of seconds, 0.001 to 31536000";
const KNOWN: [&str; 13] = [
    "bearer-env",
    "cacert",
    "era",
    "gateway",
    "header",
    "hint",
    "max-message",
    "policy",
    "profile",
    "repeatable",
    "servers",
    "timeout",
    "verbose",
];

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn every_flag_has_a_key_of_its_name() {
        let layer = parse(
            "bearer-env = \"TOKEN\"\nheader = [\"X-A: 1\"]\npolicy = \"unattended\"\n\
             repeatable = [\"read\"]\ntimeout = 2\nverbose = 1\nera = \"auto\"\n\
             max-message = \"64MiB\"\ncacert = \"roots.pem\"\nprofile = \"work\"\n\
             hint = [\"get_*=read\"]\n",
        )
        .unwrap();

        assert_eq!(layer.bearer_env.as_deref(), Some("TOKEN"));
        assert_eq!((layer.headers, layer.repeatable), (vec!["X-A: 1".into()], vec!["read".into()]));
        assert_eq!(layer.hints, [hint::parse("get_*=read").unwrap()]);
        assert_eq!((layer.policy, layer.verbose), (Some(Policy::Unattended), Some(1)));
        assert_eq!(layer.max_message, Some(64 << 20));
        assert_eq!(layer.profile.as_deref(), Some("work"));
        assert_eq!(layer.cacert.as_deref(), Some(Path::new("roots.pem")));
        assert_eq!(parse("max-message = 20000000").unwrap().max_message, Some(20_000_000));
        assert_eq!(
            (layer.timeout, layer.era),
            (Some(Duration::from_secs(2)), Some(EraChoice::Auto))
        );
    }

    #[test]
    fn the_users_file_is_below_the_settings_of_the_platform() {
        let all = [("APPDATA", "/roaming"), ("HOME", "/me"), ("XDG_CONFIG_HOME", "/xdg")];
        let users = |platform, known: &[(&str, &str)]| {
            let value =
                |name: &str| known.iter().find(|(it, _)| *it == name).map(|(_, at)| at.into());
            users_on(platform, value)
        };

        for platform in [Platform::MacOs, Platform::Unix] {
            let found = [users(platform, &all), users(platform, &all[..2])];
            let below = |folder: &str| Some(Path::new(folder).join("ridethrough/ridethrough.toml"));
            assert_eq!(found, [below("/xdg"), below("/me/.config")], "{platform:?}");
        }
        let found = [users(Platform::Windows, &all), users(Platform::Windows, &all[1..])];
        assert_eq!(found, [Some("/roaming/ridethrough/ridethrough.toml".into()), None]);
    }

    #[test]
    fn an_unknown_key_is_told_with_those_that_are_known() {
        let refused = parse("timeuot = 2\n").map(|_| ()).unwrap_err();

        assert!(refused.starts_with("`timeuot` is not known; known are bearer-env,"), "{refused}");
    }

    #[test]
    fn a_misspelt_key_of_a_server_is_told_and_a_foreign_one_is_not() {
        let refused =
            parse("[servers.a]\nurl = 'https://a.example'\nheadrs = {}\n").map(|_| ()).unwrap_err();

        assert_eq!(refused, "`servers.a.headrs` is not known; did you mean `headers`?");
        assert!(parse("[servers.a]\nurl = 'https://a.example'\nalwaysAllow = []\n").is_ok());
    }

    #[test]
    fn what_is_wrong_is_told_without_what_is_in_the_file() {
        for text in [
            "header = \"X-Key: s3cret\"",
            "header = [1, \"s3cret\"]",
            "timeout = \"s3cret\"",
            "policy = \"s3cret\"",
            "era = \"s3cret\"",
            "bearer-env = [\"s3cret\"]",
            "header = [\"X-Key: s3cret\"\nverbose = 1",
            "verbose = 's3cret'",
            "max-message = 's3cret'",
            "cacert = ['s3cret']",
        ] {
            let refused = parse(text).map(|_| ()).unwrap_err();
            assert!(!refused.contains("s3cret"), "{refused}");
        }
    }
}
