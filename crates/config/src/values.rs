//! Values of settings as people write them: headers, hints, sizes and times.

use std::time::Duration;

use ridethrough::machine::hints::{OperatorHints, ToolHint};
use ridethrough_core::{DoubtForm, DoubtRepeat};

/// Values that a word stands for, each with what a help says of it.
pub type Choices<T, const COUNT: usize> = [(&'static str, T, &'static str); COUNT];

/// Returns what a word stands for.
pub fn named<T: Copy>(choices: &[(&'static str, T, &'static str)], word: &str) -> Option<T> {
    choices.iter().find(|(name, ..)| *name == word).map(|(_, value, _)| *value)
}

/// Returns the word that stands for a value.
pub fn word<T: PartialEq>(choices: &[(&'static str, T, &'static str)], value: T) -> &'static str {
    choices.iter().find(|(_, it, _)| *it == value).map_or("", |(name, ..)| name)
}

/// Returns name and value of a `NAME: VALUE`, with variables replaced. Errors never contain a value.
pub fn header(
    text: &str,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<(String, String), String> {
    let Some((name, value)) = text.split_once(':') else {
        return Err("a header has no colon between its name and its value".to_owned());
    };
    let name = name.trim();
    let value =
        expanded(value.trim(), variable).map_err(|fault| format!("header `{name}`: {fault}"))?;
    Ok((name.to_owned(), value))
}

/// Returns the name of a header in lower case, for comparisons.
pub(crate) fn header_name(text: &str) -> String {
    text.split(':').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Replaces each `${VAR}` by the variable's value.
pub(crate) fn expanded(
    text: &str,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<String, String> {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, behind) = after.split_once('}').ok_or("`${` without `}`")?;
        if !is_variable(name) {
            return Err("`${...}` must hold the name of a variable".to_owned());
        }
        let value = variable(name).ok_or_else(|| format!("the variable `{name}` is not set"))?;
        expanded.push_str(before);
        expanded.push_str(&value);
        rest = behind;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

/// Whether shells could set a variable of this name.
pub fn is_variable(text: &str) -> bool {
    let is_letter = |it: char| it.is_ascii_alphanumeric() || it == '_';
    !text.is_empty()
        && text.chars().all(is_letter)
        && !text.starts_with(|it: char| it.is_ascii_digit())
}

/// What is said of the tools whose names match a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaidHint {
    pattern: String,
    hint: ToolHint,
}

/// Parses a pattern of tools and what they do: `get_*=read`.
pub fn hint(text: &str) -> Result<SaidHint, String> {
    let said = text.rsplit_once('=').filter(|(pattern, _)| !pattern.is_empty());
    let (pattern, word) = said.ok_or(HINTS)?;
    let hint = hint_word(word).ok_or(HINTS)?;
    Ok(SaidHint { pattern: pattern.to_owned(), hint })
}

/// Returns what a word says of tools.
pub(crate) fn hint_word(word: &str) -> Option<ToolHint> {
    match word {
        "read" => Some(ToolHint::Read),
        "write" => Some(ToolHint::Write),
        _ => None,
    }
}

/// Puts together what is said of tools.
pub fn together(hints: Vec<SaidHint>, repeatable: &[String]) -> OperatorHints {
    let mut all = OperatorHints::default();
    hints.into_iter().for_each(|SaidHint { pattern, hint }| all.hint(pattern, hint));
    repeatable.iter().for_each(|pattern| all.repeat(pattern));
    all
}

/// Parses a number of bytes, within what a client takes as the limit of a message: `16MiB`, `20000000`.
pub fn size(text: &str) -> Result<usize, String> {
    let text = text.trim();
    let (number, unit) =
        text.split_at(text.find(|it: char| !it.is_ascii_digit()).unwrap_or(text.len()));
    let unit = unit.trim();
    let factor = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit));
    let size = factor.and_then(|(_, factor)| number.parse::<usize>().ok()?.checked_mul(*factor));
    size.filter(|size| (LEAST..=MOST).contains(size)).ok_or_else(|| SIZES.to_owned())
}

/// Parses a time in seconds.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.trim().parse().map_err(|_| SECONDS.to_owned())?;
    let is_fit = (0.001..=YEAR).contains(&seconds);
    is_fit.then(|| Duration::from_secs_f64(seconds)).ok_or_else(|| SECONDS.to_owned())
}

/// How a front tells that a call may have run.
pub const DOUBT_FORMS: Choices<DoubtForm, 2> =
    [("error", DoubtForm::Error, ""), ("result", DoubtForm::Result, "")];
/// What becomes of a repeat of such a call.
pub const DOUBT_REPEATS: Choices<DoubtRepeat, 2> =
    [("allow", DoubtRepeat::Allow, ""), ("hold", DoubtRepeat::Hold, "")];
const HINTS: &str = "must be `TOOL=read` or `TOOL=write`, where `*` stands for any letters";
pub(crate) const SECONDS: &str = "must be a number of seconds, 0.001 to 31536000";
/// The longest time that the policy of a client takes.
const YEAR: f64 = 365.0 * 24.0 * 3600.0;
pub(crate) const SIZES: &str = "must be a size such as `16MiB` or `20000000`, 1KiB to 1GiB";
const UNITS: [(&str, usize); 8] = [
    ("", 1),
    ("B", 1),
    ("KB", 1000),
    ("KiB", 1 << 10),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
    ("GB", 1_000_000_000),
    ("GiB", 1 << 30),
];
/// The smallest limit that the builder of a client takes.
const LEAST: usize = 1 << 10;
const MOST: usize = 1 << 30;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_in_the_value_are_replaced_and_nothing_else() {
        let read = |text| header(text, |name| (name == "KEY").then(|| "${KEY}x".to_owned()));

        assert_eq!(read(" X-Key : a${KEY}b${KEY} ").unwrap().1, "a${KEY}xb${KEY}x");
        assert_eq!(read("X-Key: $KEY").unwrap(), ("X-Key".into(), "$KEY".into()));
        assert_eq!(read("X-Url: http://a:1").unwrap().1, "http://a:1");
    }

    #[test]
    fn what_is_wrong_is_told_without_the_value() {
        let read = |text| header(text, |_| None).unwrap_err();

        assert_eq!(
            read("X-Key: s3cret${MISSING}"),
            "header `X-Key`: the variable `MISSING` is not set"
        );
        for text in ["s3cret", "X-Key: s3cret${", "X-Key: ${s3 cret}"] {
            assert!(!read(text).contains("s3"), "{text}");
        }
    }

    #[test]
    fn a_hint_is_a_pattern_and_one_of_two_words() {
        let get = SaidHint { pattern: "get_*".into(), hint: ToolHint::Read };
        assert_eq!(hint("get_*=read"), Ok(get));
        let odd = SaidHint { pattern: "a=b".into(), hint: ToolHint::Write };
        assert_eq!(hint("a=b=write"), Ok(odd));
        for wrong in ["get_*", "=read", "get_*=Read", "get_*=", ""] {
            assert_eq!(hint(wrong), Err(HINTS.to_owned()), "{wrong}");
        }
    }

    #[test]
    fn a_size_is_a_number_of_bytes_or_of_a_unit_within_bounds() {
        for (text, bytes) in [
            ("20000000", 20_000_000),
            ("16MiB", 16 << 20),
            (" 64 kib ", 64 << 10),
            ("20MB", 20_000_000),
            ("1GiB", 1 << 30),
            ("1024B", 1024),
        ] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "MiB", "1023", "2GiB", "-1", "1.5MiB", "16 miles", "99999999999999999999"]
        {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_time_is_a_number_of_seconds_within_bounds() {
        assert_eq!(seconds("1.5"), Ok(Duration::from_millis(1500)));
        for text in ["", "0", "-1", "nan", "inf", "1e12", "5s"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
