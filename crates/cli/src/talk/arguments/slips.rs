//! Words that are nearly arguments, with the spelling that works: they are common in other programs, or made
//! by shells.

use super::is_unnamed;
use super::origins::shown;
use crate::safe::quoted;

/// Returns how to type the first word that is nearly an argument.
pub(super) fn spelling(words: &[String]) -> Option<String> {
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
