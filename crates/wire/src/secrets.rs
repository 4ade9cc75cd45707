//! Masking secrets in what is shown. Servers often repeat the address and the headers of a request, and both
//! may hold keys.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// Texts that must not be shown.
#[derive(Clone, Default)]
pub struct Secrets(Vec<Box<str>>);

impl Secrets {
    /// Masks this text from now on. A very short text is no secret, and would occur in any sentence.
    pub fn keep(&mut self, secret: &str) {
        if secret.len() < SHORTEST || self.0.iter().any(|known| **known == *secret) {
            return;
        }
        if self.0.len() >= MOST {
            // The oldest secrets are no longer in use.
            self.0.remove(0);
        }
        self.0.push(secret.into());
    }

    /// Masks the value of a header or of a query parameter. Of `Bearer KEY` the key alone is masked, too.
    ///
    /// A plain word is masked only if its name suggests a secret: `toolset=issues` must not make a list of
    /// issues unreadable.
    pub fn keep_named(&mut self, name: &str, value: &str) {
        if is_plain_word(value) && !tells_of_a_secret(name) {
            return;
        }
        self.keep(value);
        if let Some((_, key)) = value.rsplit_once(' ') {
            self.keep(key);
        }
    }

    /// Masks the query of an address if one of its values is a secret, and each of those, encoded and decoded.
    /// A query without secrets stays as it is, because hints repeat the address.
    pub fn keep_query(&mut self, query: &str) {
        let mut values = Self::default();
        for member in query.split('&') {
            // A query may consist of a key alone.
            let (name, value) = member.split_once('=').unwrap_or(("key", member));
            values.keep_named(name, value);
            values.keep_named(name, &decoded(value));
        }
        if !values.0.is_empty() {
            self.keep(query);
            self.keep(&decoded(query));
            values.0.iter().for_each(|value| self.keep(value));
        }
    }

    /// Returns the text with all secrets masked, the longest first, because one may be part of another.
    pub fn masked(&self, text: &str) -> String {
        self.replaced(text, |_| true)
    }

    /// Returns the text with those secrets masked that cannot be a word: for the client's own sentences and
    /// names of members. The token `wrong` must not mask the sentence that a token is wrong.
    pub fn masked_but_words(&self, text: &str) -> String {
        self.replaced(text, |secret| !is_word(secret))
    }

    fn replaced(&self, text: &str, is_meant: impl Fn(&str) -> bool) -> String {
        let mut known: Vec<&str> = self.0.iter().map(|secret| &**secret).collect();
        known.retain(|secret| is_meant(secret));
        known.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        known.iter().fold(text.to_owned(), |text, secret| text.replace(secret, MASK))
    }

    /// Returns JSON with all secrets masked, however its strings are escaped; `None` if it holds none.
    /// Strings without a secret keep their bytes. A member's name that is a word is kept although it is a
    /// secret: programs look for `title`, whatever the token is.
    pub fn masked_json(&self, json: &str) -> Option<String> {
        self.replaced_json(json, |value| self.masked(value))
    }

    /// Returns JSON of the client's own with those secrets masked that cannot be a word, in names and in
    /// values.
    pub fn masked_json_but_words(&self, json: &str) -> Option<String> {
        self.replaced_json(json, |value| self.masked_but_words(value))
    }

    fn replaced_json(&self, json: &str, masked_value: impl Fn(&str) -> String) -> Option<String> {
        if self.0.is_empty() {
            return None;
        }
        let mut masked = String::new();
        let mut done = 0;
        for span in strings(json) {
            let Ok(said) = serde_json::from_str::<Cow<'_, str>>(&json[span.clone()]) else {
                continue;
            };
            let is_name = json[span.end..].trim_start().starts_with(':');
            let safe = if is_name { self.masked_but_words(&said) } else { masked_value(&said) };
            if *said != *safe {
                masked.push_str(&json[done..span.start]);
                masked.push_str(&serde_json::Value::from(safe).to_string());
                done = span.end;
            }
        }
        (done > 0).then(|| masked + &json[done..])
    }
}

/// Returns the places of the strings in a JSON text, quotes included.
fn strings(json: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = json.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + memchr::memchr(b'"', &bytes[at..])?;
        let mut end = start + 1;
        loop {
            end += memchr::memchr2(b'"', b'\\', bytes.get(end..)?)?;
            if bytes[end] == b'"' {
                break;
            }
            // A character after a backslash does not end the string.
            end += 2;
        }
        at = end + 1;
        Some(start..at)
    })
}

/// Whether a value is an ordinary word: lower-case letters, perhaps with dashes or underscores.
fn is_plain_word(value: &str) -> bool {
    value.len() < LONGEST_WORD
        && value.bytes().all(|it| it.is_ascii_lowercase() || it == b'-' || it == b'_')
}

/// Whether a sentence, or the name of a member, may contain the secret by chance.
fn is_word(secret: &str) -> bool {
    secret.len() < LONGEST_WORD
        && secret.bytes().all(|it| it.is_ascii_alphabetic() || it == b'-' || it == b'_')
}

fn tells_of_a_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    TELLING.iter().any(|part| name.contains(part))
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.0.len())
    }
}

/// Decodes a value of a query: `%2B` is a plus, and a plus is a space.
fn decoded(value: &str) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let coded = after.get(..2).filter(|_| byte == b'%');
        let coded = coded.and_then(|it| std::str::from_utf8(it).ok());
        match (byte, coded.and_then(|it| u8::from_str_radix(it, 16).ok())) {
            (_, Some(meant)) => {
                bytes.push(meant);
                rest = &after[2..];
                continue;
            }
            (b'+', _) => bytes.push(b' '),
            _ => bytes.push(byte),
        }
        rest = after;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

const MASK: &str = "...";
const SHORTEST: usize = 5;
const LONGEST_WORD: usize = 16;
/// Parts of the names of headers, variables and query parameters whose values are secrets.
const TELLING: [&str; 11] =
    ["auth", "code", "cookie", "cred", "key", "pass", "pwd", "secret", "session", "sig", "token"];
/// The most secrets that are kept: tokens are renewed without end.
const MOST: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_that_is_part_of_another_hides_neither() {
        let mut secrets = Secrets::default();
        secrets.keep("token");
        secrets.keep("token-and-more");

        assert_eq!(secrets.masked("a token-and-more, and a token"), "a ..., and a ...");
        assert_eq!(format!("{secrets:?}"), "Secrets(2)");
    }

    #[test]
    fn neither_a_query_nor_a_value_of_it_is_shown_however_it_is_written() {
        let mut secrets = Secrets::default();
        secrets.keep_query("key=s3c%2Bret&v=1");

        assert_eq!(secrets.masked("no /mcp?key=s3c%2Bret&v=1 here"), "no /mcp?... here");
        assert_eq!(secrets.masked("bad key: s3c+ret, s3c%2Bret"), "bad key: ..., ...");
        secrets.keep_query("toolset=issues&page=2");
        assert_eq!(secrets.masked("/mcp?toolset=issues&page=2"), "/mcp?toolset=issues&page=2");
    }

    /// Masking `?toolset=issues` once made every list of issues a list of dots.
    #[test]
    fn a_plain_word_is_a_secret_only_under_a_name_that_says_so() {
        let mut secrets = Secrets::default();
        secrets.keep_named("X-Workspace", "production");
        secrets.keep_named("X-Api-Key", "swordfish");
        secrets.keep_named("X-Other", "sw0rdfish");
        secrets.keep_named("Authorization", "Basic c3dvcmQ=");
        secrets.keep_query("toolset=issues&password=open-sesame");

        let masked = secrets.masked("production swordfish sw0rdfish c3dvcmQ= issues open-sesame");

        assert_eq!(masked, "production ... ... ... issues ...");
    }

    #[test]
    fn a_secret_in_json_is_found_however_it_is_written_and_nothing_else_changes() {
        let mut secrets = Secrets::default();
        secrets.keep("s3cret");
        secrets.keep("a\"b\\c\n");
        let raw = "{\"a\\\\\":\"it is \\u00733cret\", \"n\":1.10,\"s3cret\":[\"a\\\"b\\\\c\\n\",\"\\u00e9\\\"\"]}";

        let masked = secrets.masked_json(raw).unwrap();

        assert_eq!(
            masked,
            "{\"a\\\\\":\"it is ...\", \"n\":1.10,\"...\":[\"...\",\"\\u00e9\\\"\"]}"
        );
        assert_eq!(secrets.masked_json(r#"{"a":"b\u0063"}"#), None);
        for broken in ["\"", "\"\\", "{\"a\":\"\\u0\"}", ""] {
            assert_eq!(secrets.masked_json(broken), None, "{broken}");
        }
    }

    /// A token `title` left no list of tools that a program could read.
    #[test]
    fn a_secret_that_is_a_word_hides_neither_names_of_members_nor_words_of_ours() {
        let mut secrets = Secrets::default();
        secrets.keep("title");
        secrets.keep("s3cret");
        let raw = r#"{"title": "a title", "s3cret" : {"the title":1}}"#;

        let masked = secrets.masked_json(raw).unwrap();

        assert_eq!(masked, r#"{"title": "a ...", "..." : {"the title":1}}"#);
        assert_eq!(secrets.masked_but_words("the title is s3cret"), "the title is ...");
        let ours = secrets.masked_json_but_words(r#"{"a": "a title", "b": "s3cret"}"#).unwrap();
        assert_eq!(ours, r#"{"a": "a title", "b": "..."}"#);
    }

    #[test]
    fn what_is_short_is_no_secret_and_old_ones_make_room() {
        let mut secrets = Secrets::default();
        secrets.keep("v=1");
        for number in 0..1000 {
            secrets.keep(&format!("token-{number:04}"));
        }

        assert_eq!(secrets.masked("v=1 token-0999 token-0000"), "v=1 ... token-0000");
    }
}
