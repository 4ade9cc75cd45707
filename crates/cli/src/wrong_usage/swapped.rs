//! A server that was typed behind the word that is asked of it: `ridethrough call echo
//! https://example.com/mcp`.

use crate::misuse::Misuse;
use crate::safe;
use crate::server::program;
use crate::server::target;

/// Returns what is wrong if the server is the second word, with the corrected line. `what` names the second
/// word of a correct line.
pub(crate) fn told(
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

/// The most characters of what was typed that an error repeats.
const LONGEST: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_stands_second_is_told_with_the_line_as_it_should_be() {
        let told = |server, second| {
            told("call", "tool", [server, second], &["msg=hello world".into()])
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
}
