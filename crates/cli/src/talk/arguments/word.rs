//! One argument as a word: `key=text`, `key:=json`, `key=@file`.

use std::fs;
use std::io::Read;

use ridethrough::Json;

use super::super::origins::shown;
use crate::safe::quoted;

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

/// Whether the word has no name, and is not one of the words that need none.
pub(in crate::talk) fn is_unnamed(word: &str) -> bool {
    !word.contains('=') && word != "-" && !is_like_object(word)
}

/// Whether the word is meant as an object with all arguments.
pub(super) fn is_like_object(word: &str) -> bool {
    let word = word.trim();
    word.starts_with('{') && word.ends_with('}')
}

/// Returns how to type the first word that is nearly an argument.
pub(in crate::talk) fn spelling(words: &[String]) -> Option<String> {
    (0..words.len()).find_map(|place| at(words, place))
}

fn at(words: &[String], place: usize) -> Option<String> {
    let word = words[place].as_str();
    let before = place.checked_sub(1).map(|it| words[it].as_str());
    let after = words.get(place + 1).map(String::as_str);
    if let Some(value) = word.strip_prefix('=') {
        let name = before.filter(|it| is_name(it))?;
        let value = if value.is_empty() { after? } else { value };
        return Some(format!("there are no spaces around `=`: `{}`", typed(name, value)));
    }
    if let Some(file) = word.strip_prefix('@').filter(|it| !it.is_empty()) {
        let file = shown(&quoted(file));
        return Some(format!("a file that holds all arguments is read from stdin: `- < {file}`"));
    }
    if !is_unnamed(word) {
        return None;
    }
    if let Some((name, value)) = word.split_once(':').filter(|(name, _)| is_name(name)) {
        let value = if value.is_empty() { after? } else { value };
        let is_address = value.starts_with(['/', '\\']);
        return (!is_address)
            .then(|| format!("between name and value stands `=`: `{}`", typed(name, value)));
    }
    let (name, value) = before?.split_once('=').filter(|(name, _)| is_name(name))?;
    // A number is complete: the next word is another argument.
    if value.parse::<f64>().is_ok() {
        return None;
    }
    let rest = words[place..].iter().take_while(|it| is_unnamed(it)).map(String::as_str);
    let value = [value].into_iter().chain(rest).collect::<Vec<_>>().join(" ");
    Some(format!("text with spaces stands in quotes: `{}`", typed(name, value.trim_start())))
}

fn typed(name: &str, value: &str) -> String {
    shown(&format!("{name}={}", quoted(value)))
}

/// Whether arguments of tools have such names.
fn is_name(word: &str) -> bool {
    let is_part = |it: char| it.is_ascii_alphanumeric() || "_-.".contains(it);
    word.starts_with(|it: char| it.is_ascii_alphabetic()) && word.chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Before this was fixed, names were guessed: `message = hi` brought `msg=message other=hi`.
    #[test]
    fn words_that_are_nearly_arguments_get_the_spelling_that_works() {
        for (words, tip) in [
            (&["message", "=", "hi"][..], "no spaces around `=`: `message=hi`"),
            (&["message", "=hi"], "no spaces around `=`: `message=hi`"),
            (&["message:hi"], "stands `=`: `message=hi`"),
            (&["message:", "hi"], "stands `=`: `message=hi`"),
            (&["message=hello", "big", "world", "n=1"], "quotes: `message='hello big world'`"),
            (&["message=", "hi"], "quotes: `message=hi`"),
            (&["@args.json"], "from stdin: `- < args.json`"),
        ] {
            let words: Vec<_> = words.iter().map(|it| (*it).to_owned()).collect();

            let told = spelling(&words).unwrap_or_default();

            assert!(told.contains(tip), "{words:?}: {told}");
        }
        for words in [&["1", "2"][..], &["a=1", "2"], &["http://a/"], &["a=b"], &["12:30"]] {
            let words: Vec<_> = words.iter().map(|it| (*it).to_owned()).collect();

            assert_eq!(spelling(&words), None, "{words:?}");
        }
    }
}
