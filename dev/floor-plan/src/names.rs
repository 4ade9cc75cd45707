//! The rule on names: within a crate every type has a name of its own.
//!
//! A search for a type then finds only that type. Files that take the place of others in some builds are left
//! out, and so is everything inside a function, a block or an inline module.

use std::collections::BTreeMap;

use crate::breach::Breach;
use crate::source::{Source, modules};
use crate::token::{Token, tokens};

/// Finds the types of one crate that share a name.
pub fn check(crate_name: &str, stand_ins: &[String], sources: &[Source]) -> Vec<Breach> {
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let built: Vec<_> = modules(sources).into_iter().map(|module| module.file).collect();
    let is_meant = |file: &String| built.contains(&file.as_str()) && !stand_ins.contains(file);
    for source in sources.iter().filter(|source| is_meant(&source.file)) {
        for name in types(&tokens(&source.text)) {
            places.entry(name.text).or_default().push(format!("{}:{}", source.file, name.line));
        }
    }
    let shared = places.into_iter().filter(|(_, places)| places.len() > 1);
    let told = shared.map(|(name, places)| {
        let what = format!("`{name}` is the name of several types: {}", places.join(", "));
        Breach::of(crate_name, what)
    });
    told.collect()
}

/// Returns the names of the types at the top level of a file.
fn types<'a>(tokens: &[Token<'a>]) -> Vec<Token<'a>> {
    let (mut depth, mut found) = (0_usize, Vec::new());
    for (at, token) in tokens.iter().enumerate() {
        match token.text {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth = depth.saturating_sub(1),
            word if depth == 0 && KINDS.contains(&word) => {
                found.extend(tokens.get(at + 1).filter(|name| name.is_word()).copied());
            }
            _ => {}
        }
    }
    found
}

const KINDS: [&str; 5] = ["enum", "struct", "trait", "type", "union"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_types_of_one_name_are_caught_wherever_they_are() {
        let breaches = check_tree(&[
            ("lib.rs", "mod one; mod deep;"),
            ("one.rs", "//! One.\npub(crate) enum State { On, Off }"),
            ("deep/mod.rs", "type State = u8;"),
        ]);

        let what = "house: `State` is the name of several types: one.rs:2, deep/mod.rs:1";
        assert_eq!(breaches, [what]);
    }

    #[test]
    fn what_is_inside_of_something_shares_no_name() {
        let breaches = check_tree(&[
            ("one.rs", "struct Kind; fn f() { struct Row; }"),
            ("two.rs", "enum Way { Kind, Row } trait Shape { type Kind; } fn g() { struct Row; }"),
            ("three.rs", "#[cfg(test)]\nmod tests { struct Kind; }"),
        ]);

        assert_eq!(breaches, [""; 0]);
    }

    #[test]
    fn a_file_that_takes_the_place_of_another_may_use_its_names() {
        let files = [("http2.rs", "struct Http2;"), ("http2_absent.rs", "enum Http2 {}")];

        assert_eq!(check_with(&["http2_absent.rs".to_owned()], &files), [""; 0]);
        assert_eq!(check_with(&[], &files).len(), 1);
    }

    fn check_tree(files: &[(&str, &str)]) -> Vec<String> {
        check_with(&[], files)
    }

    fn check_with(stand_ins: &[String], files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<_> = files
            .iter()
            .map(|(file, text)| Source { file: (*file).to_owned(), text: (*text).to_owned() })
            .collect();
        check("house", stand_ins, &sources).iter().map(ToString::to_string).collect()
    }
}
