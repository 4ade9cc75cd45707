//! The grammar of `WWW-Authenticate`: schemes, parameters and quoted texts.
//!
//! One line may hold several challenges, several lines one each, and a quoted text may hold anything that
//! looks like a challenge (RFC 9110, 11.6.1). Text that is not a challenge is skipped: reading never fails.

/// One challenge: a scheme and its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemeChallenge {
    /// The scheme, as it was written.
    pub scheme: String,
    parameters: Vec<(String, String)>,
}

impl SchemeChallenge {
    /// Returns the value of a parameter. Its name has no case, and the first of several values counts.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let mut named = self.parameters.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name));
        named.next().map(|(_, value)| value.as_str())
    }
}

/// Reads the challenges of one line of the header.
///
/// ```
/// use ridethrough_wire::www_authenticate::read;
///
/// let challenges = read(r#"Basic, Bearer scope="a b", error=invalid_token"#);
/// assert_eq!(challenges[0].scheme, "Basic");
/// assert_eq!(challenges[1].parameter("scope"), Some("a b"));
/// ```
pub fn read(line: &str) -> Vec<SchemeChallenge> {
    let mut challenges: Vec<SchemeChallenge> = Vec::new();
    let mut rest = line;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        if rest.is_empty() {
            return challenges;
        }
        let (word, after) = token(rest);
        if word.is_empty() {
            rest = behind_next_comma(rest);
        } else if let Some(after) = behind_equals(after) {
            let (value, after) = value(after);
            // A parameter without a scheme belongs to nothing.
            if let Some(challenge) = challenges.last_mut() {
                challenge.parameters.push((word.to_owned(), value));
            }
            rest = after;
        } else {
            challenges.push(SchemeChallenge { scheme: word.to_owned(), parameters: Vec::new() });
            rest = behind_token68(after);
        }
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
