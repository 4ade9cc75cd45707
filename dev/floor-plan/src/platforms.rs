//! The rule on platforms: a crate names them in the files that the plan lists under `platform`, and nowhere else.
//!
//! A file names a platform if it asks the compiler for it, as in `#[cfg(unix)]`, `cfg!(windows)` or
//! `cfg_select!`, or reads it from `consts::OS`. Tests count, too. A module that exists on one platform only
//! may use what that platform has: the condition is where the module is declared.

use std::collections::BTreeSet;

use crate::breach::Breach;
use crate::plan::PLAN_FILE;
use crate::source::Source;
use crate::token::{Token, tokens};

/// Checks the sources of one crate against the list of files that may name a platform.
pub fn check(crate_name: &str, listed: &[String], sources: &[Source]) -> Vec<Breach> {
    let mut breaches = BTreeSet::new();
    let mut unused: BTreeSet<_> = listed.iter().collect();
    for source in sources {
        let found = named(&tokens(&source.text));
        if listed.contains(&source.file) {
            if !found.is_empty() {
                unused.remove(&source.file);
            }
            continue;
        }
        for token in found {
            let what = format!("`{}` names a platform; {}", token.text, rule(listed));
            breaches.insert(Breach::at(crate_name, &source.file, token.line, what));
        }
    }
    for file in unused {
        let what = format!("`{file}` is listed under `platform`, and names none");
        breaches.insert(Breach::of(crate_name, what));
    }
    breaches.into_iter().collect()
}

fn rule(listed: &[String]) -> String {
    if listed.is_empty() {
        return format!("only a file that `{PLAN_FILE}` lists under `platform` may do that");
    }
    let files: Vec<_> = listed.iter().map(|file| format!("`{file}`")).collect();
    format!("of this crate only {} may do that", files.join(" and "))
}

/// Returns the words that name a platform, where that decides what is compiled or done.
fn named<'a>(tokens: &[Token<'a>]) -> Vec<Token<'a>> {
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let rest = &tokens[at + 1..];
        if CONDITIONS.contains(&token.text) {
            let inside = condition(rest).iter();
            found.extend(inside.filter(|word| PLATFORMS.contains(&word.text)));
        } else if let ("consts", [sign, name, ..]) = (token.text, rest)
            && sign.text == "::"
            && CONSTANTS.contains(&name.text)
        {
            found.push(*name);
        }
    }
    found
}

/// Returns the tokens between the brackets after `cfg` or `cfg!`; none if there are no brackets.
fn condition<'a, 'b>(rest: &'b [Token<'a>]) -> &'b [Token<'a>] {
    let rest = match rest {
        [sign, rest @ ..] if sign.text == "!" => rest,
        rest => rest,
    };
    let mut depth = 0;
    for (at, token) in rest.iter().enumerate() {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth <= 0 {
            return &rest[..at];
        }
    }
    rest
}

const CONDITIONS: [&str; 3] = ["cfg", "cfg_attr", "cfg_select"];
const CONSTANTS: [&str; 2] = ["FAMILY", "OS"];
const PLATFORMS: [&str; 6] =
    ["target_env", "target_family", "target_os", "target_vendor", "unix", "windows"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_platform_may_be_named_in_a_file_that_is_listed() {
        let breaches = check_files(
            &["lib.rs", "platform.rs"],
            &[
                ("lib.rs", "#[cfg(unix)] mod children;"),
                ("platform.rs", "#[cfg(unix)] fn f() {} #[cfg(not(unix))] fn f() {}"),
                ("children.rs", "use std::os::unix::process::CommandExt;"),
            ],
        );

        assert_eq!(breaches, [""; 0]);
    }

    #[test]
    fn a_platform_that_is_named_elsewhere_is_caught() {
        let files =
            [("platform.rs", "cfg!(unix)"), ("deep/part.rs", "//! Part.\n#[cfg(unix)]\nmod x;")];

        let breaches = check_files(&["platform.rs"], &files);

        assert_eq!(
            breaches,
            [
                "house src/deep/part.rs:2: `unix` names a platform; of this crate only `platform.rs` may do that"
            ]
        );
    }

    #[test]
    fn a_crate_without_such_files_is_told_where_to_list_them() {
        let breaches = check_files(&[], &[("lib.rs", "cfg!(windows)")]);

        assert_eq!(
            breaches,
            [
                "house src/lib.rs:1: `windows` names a platform; only a file that `dev/floor-plan/floor-plan.toml` lists \
              under `platform` may do that"
            ]
        );
    }

    #[test]
    fn a_platform_is_seen_however_it_is_asked_for() {
        for (source, word) in [
            ("#![cfg(unix)]", "unix"),
            ("#[cfg(not(windows))] fn f() {}", "windows"),
            ("#[cfg(all(test, target_os = \"linux\"))] mod tests {}", "target_os"),
            ("#[cfg_attr(target_family = \"unix\", path = \"a.rs\")] mod a;", "target_family"),
            ("fn f() { if cfg!(any(target_env = \"musl\")) {} }", "target_env"),
            ("cfg_select! { unix => { fn f() {} } _ => {} }", "unix"),
            ("fn f() { g(std::env::consts::OS) }", "OS"),
            ("#[cfg(unix", "unix"),
        ] {
            let named = named(&tokens(source)).iter().map(|it| it.text).collect::<Vec<_>>();

            assert_eq!(named, [word], "{source}");
        }
    }

    #[test]
    fn what_only_looks_like_a_platform_is_not_one() {
        for source in [
            "#[cfg(test)] mod unix;",
            "#[cfg(feature = \"unix\")] use a::unix::b;",
            "fn f() { bytes.windows(2) } // #[cfg(unix)]",
            "use std::os::unix::fs::MetadataExt;",
            "let cfg = unix(); std::env::consts::EXE_SUFFIX",
            "cfg",
        ] {
            assert_eq!(named(&tokens(source)), [], "{source}");
        }
    }

    #[test]
    fn a_listed_file_that_is_gone_or_names_no_platform_is_caught() {
        let breaches = check_files(&["gone.rs", "plain.rs"], &[("plain.rs", "fn f() {}")]);

        assert_eq!(
            breaches,
            [
                "house: `gone.rs` is listed under `platform`, and names none",
                "house: `plain.rs` is listed under `platform`, and names none",
            ]
        );
    }

    fn check_files(listed: &[&str], files: &[(&str, &str)]) -> Vec<String> {
        let listed: Vec<_> = listed.iter().map(|file| (*file).to_owned()).collect();
        let sources: Vec<_> = files
            .iter()
            .map(|(file, text)| Source { file: (*file).to_owned(), text: (*text).to_owned() })
            .collect();
        check("house", &listed, &sources).iter().map(Breach::to_string).collect()
    }
}
