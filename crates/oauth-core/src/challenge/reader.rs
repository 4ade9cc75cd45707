//! The grammar of `WWW-Authenticate`: schemes, parameters and quoted texts.

use super::{Challenge, Scheme};

/// Reads the challenges of one header line and appends them.
pub(super) fn read(line: &str, challenges: &mut Vec<Challenge>) {
    let mut rest = line;
    let mut current: Option<Challenge> = None;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        if rest.is_empty() {
            break;
        }
        let (word, after) = token(rest);
        if word.is_empty() {
            rest = behind_next_comma(rest);
        } else if let Some(after) = behind_equals(after) {
            let (value, after) = value(after);
            set(current.as_mut(), word, value);
            rest = after;
        } else {
            challenges.extend(current.take());
            current = Some(Challenge { scheme: Scheme::named(word), ..Challenge::default() });
            rest = behind_token68(after);
        }
    }
    challenges.extend(current);
}

/// Sets a parameter. Its first value counts; a parameter without a scheme belongs to nothing.
fn set(challenge: Option<&mut Challenge>, name: &str, value: String) {
    if let Some(place) = challenge.and_then(|challenge| challenge.parameter_mut(name))
        && place.is_none()
    {
        *place = Some(value);
    }
}

fn token(text: &str) -> (&str, &str) {
    let is_token = |it: char| it.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(it);
    text.split_at(text.find(|it| !is_token(it)).unwrap_or(text.len()))
}

/// Returns the text behind `=`, if that comes next.
fn behind_equals(text: &str) -> Option<&str> {
    text.trim_start_matches([' ', '\t']).strip_prefix('=')
}

/// Returns a value, quoted or not, and the text behind it.
///
/// Values without quotes should be tokens; servers also send URLs and whole texts, so everything up to the
/// comma or space counts.
fn value(text: &str) -> (String, &str) {
    let text = text.trim_start_matches([' ', '\t']);
    match text.strip_prefix('"') {
        Some(quoted) => unquoted(quoted),
        None => {
            let end = text.find([',', ' ', '\t']).unwrap_or(text.len());
            (text[..end].to_owned(), &text[end..])
        }
    }
}

/// Returns the text before the closing quote, and the text behind it. A backslash takes the next character
/// literally (RFC 9110, 5.6.4). Without a closing quote all of it is the text.
fn unquoted(quoted: &str) -> (String, &str) {
    let mut text = String::new();
    let mut letters = quoted.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (text, &quoted[at + 1..]),
            '\\' => text.extend(letters.next().map(|(_, escaped)| escaped)),
            letter => text.push(letter),
        }
    }
    (text, "")
}

/// Returns the text behind the credentials of `Negotiate YII=`, which have no name, and `=` only at their
/// end.
fn behind_token68(after_scheme: &str) -> &str {
    let text = after_scheme.trim_start_matches([' ', '\t']);
    let is_token68 = |it: char| it.is_ascii_alphanumeric() || "-._~+/".contains(it);
    let rest = text.trim_start_matches(is_token68);
    let behind = rest.trim_start_matches('=').trim_start_matches([' ', '\t']);
    let is_alone = behind.is_empty() || behind.starts_with(',');
    if rest.len() < text.len() && is_alone { behind } else { text }
}

fn behind_next_comma(text: &str) -> &str {
    // A quoted text without a name is skipped whole: there may be commas in it.
    if let Some(quoted) = text.strip_prefix('"') {
        return unquoted(quoted).1;
    }
    let after = text.char_indices().skip(1).find(|(_, it)| matches!(it, ',' | '"'));
    after.map_or("", |(at, _)| &text[at..])
}
