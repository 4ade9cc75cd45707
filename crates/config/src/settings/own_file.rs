//! Settings from `ridethrough.toml`: the keys are the names of the flags.
//!
//! Values are read by hand, so that an error about a value does not repeat it.

use std::fs;
use std::io;
use std::path::Path;

use ridethrough_terminal::misuse::Misuse;
use toml::{Table, Value};

use crate::hosts::entry::meant_key;
use crate::settings::{ERA, KEYS, Layer, POLICY, VERBOSE};
use crate::values::{SECONDS, SIZES};

/// Reads a file; a missing file has no settings.
pub fn read(path: &Path) -> Result<Layer, Misuse> {
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

pub(crate) fn parse(text: &str) -> Result<Layer, String> {
    let table: Table = text.parse().map_err(|error: toml::de::Error| {
        // The parser's message quotes the file, which may show a secret; the position is enough.
        let start = error.span().map_or(0, |span| span.start);
        let line = text.get(..start).unwrap_or_default().matches('\n').count() + 1;
        format!("line {line} is not TOML")
    })?;
    let mut layer = Layer::default();
    for (key, value) in table {
        match (key.as_str(), value) {
            // Read by the gateway alone.
            ("gateway", Value::Table(_)) => {}
            ("gateway", _) => return Err("`gateway` must be a table".to_owned()),
            // Servers are read when their name is typed.
            ("servers", Value::Table(servers)) => misspelt(&servers)?,
            ("servers", _) => return Err("`servers` must be a table of servers".to_owned()),
            (key, value) if KEYS.contains(&key) => {
                let words = words(key, value).map_err(|bound| format!("`{key}` {bound}"))?;
                layer.take(key, words).map_err(|bound| format!("`{key}` {bound}"))?;
            }
            (key, _) => return Err(unknown(key)),
        }
    }
    Ok(layer)
}

/// Returns the words of a value, or the bound that it does not keep.
fn words(key: &str, value: Value) -> Result<Vec<String>, &'static str> {
    match (key, value) {
        ("header" | "hint" | "repeatable", Value::Array(items)) => {
            let words = items.into_iter().map(|item| match item {
                Value::String(text) => Some(text),
                _ => None,
            });
            words.collect::<Option<_>>().ok_or(LIST)
        }
        ("header" | "hint" | "repeatable", _) => Err(LIST),
        ("max-message" | "timeout" | "verbose", Value::Integer(number)) => {
            Ok(vec![number.to_string()])
        }
        ("timeout", Value::Float(number)) => Ok(vec![number.to_string()]),
        ("timeout", _) => Err(SECONDS),
        ("verbose", _) => Err(VERBOSE),
        (_, Value::String(text)) => Ok(vec![text]),
        ("bearer-env", _) => Err("must be the name of a variable, a string"),
        ("cacert", _) => Err("must be the name of a file, a string"),
        ("era", _) => Err(ERA),
        ("max-message", _) => Err(SIZES),
        ("policy", _) => Err(POLICY),
        _ => Err("must be the name of an account, a string"),
    }
}

fn unknown(key: &str) -> String {
    let mut known = [&KEYS[..], &["gateway", "servers"]].concat();
    known.sort_unstable();
    format!("`{key}` is not known; known are {}", known.join(", "))
}

/// Refuses keys that are nearly a key of a server. Entries are pasted from other hosts, whose other keys are
/// ignored here.
fn misspelt(servers: &Table) -> Result<(), String> {
    for (name, server) in servers {
        for key in server.as_table().into_iter().flat_map(Table::keys) {
            if let Some(meant) = meant_key(key) {
                let place = format!("servers.{name}.{key}");
                return Err(format!("`{place}` is not known; did you mean `{meant}`?"));
            }
        }
    }
    Ok(())
}

pub(crate) fn wrong(path: &Path, fault: &str) -> Misuse {
    Misuse {
        what: format!("`{}` cannot be used: {fault}", path.display()),
        tried: "the settings were read; nothing was sent".to_owned(),
        hint: "mend the file: its keys are the names of the flags, see `ridethrough call --help`"
            .to_owned(),
    }
}

const LIST: &str = "must be a list of strings";

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::settings::{EraChoice, Policy};
    use crate::values;

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
        assert_eq!(layer.hints, [values::hint("get_*=read").unwrap()]);
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
