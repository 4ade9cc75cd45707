//! One argument as a word: `key=text`, `key:=json`, `key=@file`.

use std::fs;
use std::io::Read;

use ridethrough::Json;

use super::origins::shown;

/// One argument.
#[derive(Clone, Debug)]
pub(in crate::talk) struct TypedArgument {
    /// The word as it was typed, as far as an error repeats it.
    pub(super) shown: String,
    pub(super) key: String,
    pub(super) given: Given,
}

/// The value behind the key.
#[derive(Clone, Debug)]
pub(super) enum Given {
    /// JSON, which has its own type.
    Json(Json),
    /// Text, which gets its type from the schema.
    Text(String),
}

/// Reads the words, and the files that they name.
pub(super) fn all(words: &[String]) -> Result<Vec<TypedArgument>, String> {
    if words.iter().filter(|it| it.ends_with("=@-")).count() > 1 {
        return Err("`@-` is there twice, and stdin can be read only once".to_owned());
    }
    words.iter().map(|word| TypedArgument::read(word)).collect()
}

impl TypedArgument {
    fn read(word: &str) -> Result<Self, String> {
        let shown = shown(word);
        let Some((key, text)) = word.split_once('=').filter(|(key, _)| !key.is_empty()) else {
            let why = if word == "-" { ": `-` stands alone, for an object on stdin" } else { "" };
            return Err(format!("`{shown}` is no `key=value`{why}"));
        };
        let (key, is_json) = match key.strip_suffix(':').filter(|key| !key.is_empty()) {
            Some(key) => (key, true),
            None => (key, false),
        };
        let text = match text.strip_prefix('@').filter(|name| !name.is_empty()) {
            Some(name) => file(name).map_err(|why| {
                let hint = format!("`{key}:='\"@{name}\"'` is the text itself");
                format!("`{shown}` cannot be read: {why} ({})", super::origins::shown(&hint))
            })?,
            None => text.to_owned(),
        };
        let given = if is_json {
            Given::Json(Json::new(text.trim().to_owned()).map_err(|error| {
                let why = std::error::Error::source(&error).map(ToString::to_string);
                format!("`{shown}` is no JSON behind `:=`: {}", why.unwrap_or_default())
            })?)
        } else {
            Given::Text(text)
        };
        Ok(Self { shown, key: key.to_owned(), given })
    }

    /// Returns the place that the key names: `a.b` is inside of `a`, unless there is an argument of that
    /// name; `a\.b` is a name with a point in it.
    pub(super) fn path(&self, is_name: bool) -> Vec<String> {
        if is_name || !self.key.contains('.') {
            return vec![self.key.clone()];
        }
        let mut steps = vec![String::new()];
        let mut characters = self.key.chars().peekable();
        while let Some(it) = characters.next() {
            match it {
                '\\' if characters.peek() == Some(&'.') => {
                    characters.next();
                    last(&mut steps).push('.');
                }
                '.' => steps.push(String::new()),
                it => last(&mut steps).push(it),
            }
        }
        let is_whole = steps.iter().all(|it| !it.is_empty());
        if is_whole { steps } else { vec![self.key.clone()] }
    }
}

fn last(steps: &mut [String]) -> &mut String {
    steps.last_mut().expect("there is one from the beginning")
}

/// Returns the text of a file; `-` is stdin.
fn file(name: &str) -> Result<String, String> {
    if name == "-" {
        let mut text = String::new();
        let read = std::io::stdin().read_to_string(&mut text);
        return read.map(|_| text).map_err(|error| error.to_string());
    }
    let bytes = fs::read(name).map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|_| "the file holds no text".to_owned())
}
