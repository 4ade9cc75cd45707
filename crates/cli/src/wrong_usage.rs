//! What a person may have meant by words that no command takes, or that nothing replaces.

pub(crate) mod unknown_flag;

use std::ffi::OsString;

use crate::misuse::Misuse;
use crate::safe;
use crate::server::{program, target};

/// Returns what is wrong if the server is the second word, with the corrected line. `what` names the second
/// word of a correct line.
pub(crate) fn swapped(
    command: &str,
    what: &str,
    [server, second]: [&str; 2],
    rest: &[String],
) -> Option<Misuse> {
    if !is_url(second) || is_url(server) || program::in_word(server).is_some() {
        return None;
    }
    // A URL that cannot be used may hold a password.
    let url = target::resolve(second).map_or_else(|_| "URL".to_owned(), |it| it.word());
    let typed = rest.iter().map(|word| safe::quoted(word)).collect::<Vec<_>>().join(" ");
    let rest = if typed.chars().count() > LONGEST { "..." } else { typed.as_str() };
    let words = ["ridethrough", command, &url, &safe::quoted(server), rest];
    let words: Vec<_> = words.into_iter().filter(|it| !it.is_empty()).collect();
    Some(Misuse {
        what: format!("the server stands before the {what}"),
        tried: "the command line was read; nothing was sent".to_owned(),
        hint: format!("write `{}`", words.join(" ")),
    })
}

fn is_url(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    ["http://", "https://", "localhost:", "127.0.0.1:", "[::1]:"]
        .iter()
        .any(|it| word.starts_with(it))
}

/// Returns warnings about the headers on a command line. Of their values only names of variables are shown.
pub(crate) fn unexpanded(words: impl Iterator<Item = OsString>) -> Vec<String> {
    let words: Vec<_> = words.map(|it| it.to_string_lossy().into_owned()).collect();
    let ours = words.split(|it| it == "--").next().unwrap_or_default();
    let values = ours.iter().zip(ours.iter().skip(1).map(Some).chain([None]));
    let values = values.filter_map(|(flag, next)| match flag.as_str() {
        "--header" => next.map(String::as_str),
        flag => flag.strip_prefix("--header="),
    });
    values.filter_map(warning).collect()
}

fn warning(header: &str) -> Option<String> {
    let (name, value) = header.split_once(':')?;
    // A secret may contain a `$`, so only a whole word in capital letters counts as a variable.
    let variable = value.split_whitespace().find_map(|word| {
        let variable = word.strip_prefix('$')?;
        let is_name = |it: char| it.is_ascii_uppercase() || it.is_ascii_digit() || it == '_';
        let is_variable = variable.starts_with(|it: char| it.is_ascii_uppercase() || it == '_')
            && variable.chars().all(is_name);
        is_variable.then_some(variable)
    })?;
    let name = name.trim();
    Some(format!(
        "warning: the header `{name}` is sent with `${variable}` as it stands: write `${{{variable}}}`, which is replaced here"
    ))
}

/// The most characters of what was typed that an error repeats.
const LONGEST: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_stands_second_is_told_with_the_line_as_it_should_be() {
        let told = |server, second| {
            swapped("call", "tool", [server, second], &["msg=hello world".into()])
                .map(|it| it.to_string())
        };

        let swapped = told("echo", "https://a.example/mcp?key=s3cret-0123456789").unwrap();

        assert!(swapped.contains("the server stands before the tool"), "{swapped}");
        let line = "`ridethrough call 'https://a.example/mcp?key=...' echo 'msg=hello world'`";
        assert!(swapped.contains(line), "{swapped}");
        assert!(!told("echo", "http://me:s3cret@a/mcp").unwrap().contains("s3cret"));
        assert_eq!(told("http://a/mcp", "echo"), None);
        assert_eq!(told("http://a/mcp", "http://b/c"), None);
        assert_eq!(told("github", "echo"), None);
    }

    #[test]
    fn a_variable_that_nobody_replaces_is_told_and_nothing_else_of_a_value() {
        let told = |words: &[&str]| unexpanded(words.iter().map(|it| (*it).into()));

        let told_once = told(&["tools", "a", "--header", "Authorization: Bearer $TOKEN"]);

        assert_eq!(
            told_once,
            [
                "warning: the header `Authorization` is sent with `$TOKEN` as it stands: write `${TOKEN}`, which is \
              replaced here"
            ]
        );
        assert_eq!(told(&["tools", "--header=X-Key: $KEY_2"]).len(), 1);
        for value in ["X: ${KEY}", "X: s3$KEY", "X: $KEY-s3cret", "X: $lower", "X: $5", "X"] {
            assert!(told(&["tools", "--header", value]).is_empty(), "{value}");
        }
        assert!(told(&["tools", "--", "curl", "--header", "X: $KEY"]).is_empty());
    }
}
