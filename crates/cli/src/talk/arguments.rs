//! The arguments that people type: one JSON object, or a word for each, which the schema gives a type to.
//!
//! `key=text`, `key:=json`, `key=@file`, `key:=@file`; `a.b=c` for a member of an object; a key again for the
//! next element of a list.

mod word;

use std::io::Read;

use anyhow::{Context, Result};
use ridethrough::Json;

use super::origins::{self, Origins};
use super::schema::{Schema, is_of};
use crate::safe;
use word::{Given, TypedArgument, is_like_object};
pub(super) use word::{is_unnamed, spelling};

/// The arguments that were typed.
#[derive(Clone, Debug)]
pub(super) enum Typed {
    /// One object with all arguments.
    Object(Json),
    /// A word for each argument.
    Words(Vec<TypedArgument>),
}

/// Reads the words behind the tool's name; `-` is the object on stdin. A fault repeats what was typed.
pub(super) fn read(words: &[String]) -> Result<Result<Typed, String>> {
    if words == ["-"] {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).context("stdin cannot be read")?;
        return Ok(object(&text, "what came on stdin"));
    }
    match words {
        [word] if word.trim_start().starts_with('{') => {
            Ok(object(word, &format!("`{}`", origins::shown(word))))
        }
        words if words.iter().any(|it| is_like_object(it)) => Ok(Err(MIXED.to_owned())),
        words => Ok(word::all(words).map(Typed::Words)),
    }
}

fn object(text: &str, what: &str) -> Result<Typed, String> {
    match Json::new(text.trim().to_owned()) {
        Ok(json) if json.as_str().starts_with('{') => Ok(Typed::Object(json)),
        Ok(_) => Err(format!("{what} is no JSON object")),
        Err(error) => {
            let why = std::error::Error::source(&error).map(|it| format!(": {it}"));
            Err(format!("{what} is no JSON object{}", why.unwrap_or_default()))
        }
    }
}

/// Returns name and text of each argument, for prompts, which take only text.
pub(super) fn texts(words: &[String]) -> Result<Vec<(String, String)>, String> {
    let mut texts: Vec<(String, String)> = Vec::new();
    for word in word::all(words)? {
        if texts.iter().any(|(known, _)| *known == word.key) {
            return Err(format!("`{}` is given twice; typed: `{}`", word.key, word.shown));
        }
        let text = match word.given {
            Given::Json(json) => json.as_str().to_owned(),
            Given::Text(text) => text,
        };
        texts.push((word.key, text));
    }
    Ok(texts)
}

impl Typed {
    /// Returns the arguments as they are sent, with types from the schema, and the word that each comes from.
    pub(super) fn by(self, schema: Schema<'_>) -> Result<(Json, Origins), Vec<String>> {
        let words = match self {
            Self::Object(json) => {
                let origins = Origins::whole(&json);
                return Ok((json, origins));
            }
            Self::Words(words) => words,
        };
        let mut members = Vec::new();
        let mut build = Build { origins: Origins::default(), faults: Vec::new() };
        for word in words {
            let path = word.path(schema.property(&word.key).is_some());
            if let Err(fault) = put(&mut members, &path, word) {
                build.faults.push(fault);
            }
        }
        let json = build.object(members, Some(schema), "");
        if build.faults.is_empty() { Ok((json, build.origins)) } else { Err(build.faults) }
    }
}

/// The content of one place: words, or a nested object.
enum Part {
    Inside(Vec<(String, Self)>),
    Words(Vec<TypedArgument>),
}

/// Puts a word where its key says.
fn put(
    members: &mut Vec<(String, Part)>,
    path: &[String],
    word: TypedArgument,
) -> Result<(), String> {
    let [key, rest @ ..] = path else { return Ok(()) };
    let place = members.iter().position(|(known, _)| known == key).unwrap_or_else(|| {
        let part = if rest.is_empty() { Part::Words(Vec::new()) } else { Part::Inside(Vec::new()) };
        members.push((key.clone(), part));
        members.len() - 1
    });
    match (&mut members[place].1, rest.is_empty()) {
        (Part::Words(words), true) => words.push(word),
        (Part::Inside(members), false) => return put(members, rest, word),
        _ => {
            return Err(format!(
                "`{key}` cannot be a value and an object; typed: `{}`",
                word.shown
            ));
        }
    }
    Ok(())
}

struct Build {
    origins: Origins,
    faults: Vec<String>,
}

impl Build {
    fn object(
        &mut self,
        members: Vec<(String, Part)>,
        schema: Option<Schema<'_>>,
        at: &str,
    ) -> Json {
        let members: Vec<_> = members
            .into_iter()
            .map(|(key, part)| {
                let schema = schema.and_then(|it| it.property(&key));
                let at = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
                let value = match part {
                    Part::Inside(members) => self.object(members, schema, &at),
                    Part::Words(words) => self.value(&key, words, schema, &at),
                };
                (key, value)
            })
            .collect();
        Json::empty_object().with_members(members)
    }

    /// Returns a value for one word, a list for several.
    fn value(
        &mut self,
        key: &str,
        words: Vec<TypedArgument>,
        schema: Option<Schema<'_>>,
        at: &str,
    ) -> Json {
        let types = schema.map(Schema::types).unwrap_or_default();
        let takes_list = types.is_empty() || types.contains(&"array");
        let is_list = match words.as_slice() {
            [word] => is_element(word, schema),
            _ => takes_list,
        };
        if words.len() > 1 && !takes_list {
            let shown: Vec<_> = words.iter().map(|it| format!("`{}`", it.shown)).collect();
            let fits = schema.map_or_else(String::new, Schema::words);
            self.faults.push(format!(
                "`{key}` is given {} times, but takes one value: {fits}; typed: {}",
                words.len(),
                shown.join(", ")
            ));
        }
        if !is_list {
            let word = words.into_iter().next_back().expect("a key without a word is not there");
            self.origins.note(at, &word.shown);
            return value(word.given, schema);
        }
        if let [word] = words.as_slice()
            && let Some(fault) = joined_by_commas(at, word)
        {
            self.faults.push(fault);
        }
        let items = schema.and_then(Schema::items);
        let elements: Vec<_> = words
            .into_iter()
            .enumerate()
            .map(|(number, word)| {
                self.origins.note(&format!("{at}/{number}"), &word.shown);
                value(word.given, items).as_str().to_owned()
            })
            .collect();
        Json::new(format!("[{}]", elements.join(","))).expect("a list of JSON is JSON")
    }
}

/// Returns the value that a text means under this schema.
pub(super) fn value_of(text: &str, schema: Option<Schema<'_>>) -> Json {
    value(Given::Text(text.to_owned()), schema)
}

/// Whether one word is meant as an element: the schema wants a list, and the word is neither a list nor
/// another allowed value.
fn is_element(word: &TypedArgument, schema: Option<Schema<'_>>) -> bool {
    let types = schema.map(Schema::types).unwrap_or_default();
    if !types.contains(&"array") || types.contains(&"string") {
        return false;
    }
    let Given::Text(text) = &word.given else { return false };
    let json = Json::new(text.trim().to_owned()).ok();
    // A text that begins like a list is a list with a mistake.
    let is_like_list = text.trim_start().starts_with('[');
    !is_like_list && !json.is_some_and(|json| types.iter().any(|it| is_of(&json, it)))
}

/// Returns the fault of one word with commas for a list: it may mean one element or several, which only the
/// person who typed it knows.
fn joined_by_commas(at: &str, word: &TypedArgument) -> Option<String> {
    let Given::Text(text) = &word.given else { return None };
    let is_file = word.shown.contains("=@");
    let (first, rest) = text.split_once(',').filter(|_| !is_file)?;
    let place = at.trim_start_matches('/').replace('/', ".").replace("~1", "/").replace("~0", "~");
    let typed = |value: &str| format!("{place}={}", safe::quoted(value.trim()));
    let several = [typed(first), typed(rest.split(',').next().unwrap_or_default())].join(" ");
    let one = safe::quoted(&serde_json::json!([text]).to_string());
    Some(format!(
        "`{place}` is a list; several are typed as `{several}` or as JSON, `{place}:='[...]'`, and one with \
         a comma in it as `{place}:={}`; typed: `{}`",
        origins::shown(&one),
        word.shown
    ))
}

/// Parses a yes or a no, in the ways that people type one.
pub(crate) fn yes_or_no(line: &str) -> Option<bool> {
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" | "true" => Some(true),
        "n" | "no" | "false" => Some(false),
        _ => None,
    }
}

/// Returns the value that a word means. A word that fits no type stays text: the server then says what is
/// wrong.
fn value(given: Given, schema: Option<Schema<'_>>) -> Json {
    let text = match given {
        Given::Json(json) => return json,
        Given::Text(text) => text,
    };
    let as_text = || Json::of(&text).expect("a string is JSON");
    let as_json = Json::new(text.trim().to_owned()).ok();
    let types = schema.map(Schema::types).unwrap_or_default();
    let values = schema.and_then(Schema::values).unwrap_or_default();
    let is_named = |json: &Json| values.iter().any(|it| it == json.as_str());
    if is_named(&as_text()) {
        return as_text();
    }
    let is_boolean = types == ["boolean"];
    if let Some(is_yes) = yes_or_no(&text).filter(|_| is_boolean) {
        return Json::of(&is_yes).expect("a boolean is JSON");
    }
    let Some(json) = as_json else { return as_text() };
    let takes_text = types.contains(&"string");
    // Where both types are allowed, text that looks like a list or an object is meant as one.
    let is_other = types.iter().any(|it| *it != "string" && is_of(&json, it));
    if is_other || types.is_empty() || (!takes_text && is_named(&json)) { json } else { as_text() }
}

/// The fault of arguments that were typed without their names.
pub(super) const BY_NAME: &str = "arguments are typed with their names";
const MIXED: &str = "a JSON object stands alone, since it holds all arguments: put the others into it, or type each of \
                     them as `key=value`";

#[cfg(test)]
mod tests;
