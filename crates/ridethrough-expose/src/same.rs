//! Whether two ids, or two progress tokens, mean the same, however they are spelled.
//!
//! Payloads pass byte for byte, but a child may write what it was given in its own way: `"a/b"` comes
//! back as `"a\/b"` from one JSON library, and 7 as `7.0` or `"7"` from some servers.

use ridethrough_core::message::Json;

/// Whether both are the same value: the same spelling, or two spellings of one text.
pub(crate) fn is_same(one: &Json, other: &Json) -> bool {
    one == other || text(one).is_some_and(|one| text(other) == Some(one))
}

/// The one of these whose key is meant: the same value or, if it is the only such one, the same number.
pub(crate) fn meant<'a, T>(
    key: &Json,
    all: &'a [T],
    key_of: impl Fn(&T) -> Option<&Json>,
) -> Option<&'a T> {
    let exactly = all.iter().find(|it| key_of(it).is_some_and(|other| is_same(other, key)));
    let nearly = || {
        let wanted = number(key)?;
        let mut near = all.iter().filter(|it| key_of(it).and_then(number) == Some(wanted));
        let first = near.next()?;
        near.next().is_none().then_some(first)
    };
    exactly.or_else(nearly)
}

fn text(json: &Json) -> Option<String> {
    json.as_str().starts_with('"').then(|| json.read())?
}

/// The whole number that it is, or that stands in it.
fn number(json: &Json) -> Option<i64> {
    let text = text(json).unwrap_or_else(|| json.as_str().to_owned());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let number: i64 = whole.parse().ok()?;
    let is_plain = number.to_string() == whole && fraction.bytes().all(|digit| digit == b'0');
    is_plain.then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_spellings_of_one_text_are_the_same() {
        for (one, other) in [("7", "7"), (r#""req/1""#, r#""req\/1""#), (r#""é""#, r#""\u00e9""#)]
        {
            assert!(is_same(&json(one), &json(other)), "{one} {other}");
        }
        for (one, other) in [("7", "\"7\""), ("7", "7.0"), (r#""a""#, r#""b""#)] {
            assert!(!is_same(&json(one), &json(other)), "{one} {other}");
        }
    }

    #[test]
    fn a_number_in_another_spelling_is_meant_only_if_it_can_be_no_other() {
        let found = |key: &str, all: &[&str]| {
            let all: Vec<_> = all.iter().map(|it| json(it)).collect();
            meant(&json(key), &all, |it| Some(it)).map(|it| it.as_str().to_owned())
        };

        assert_eq!(found("\"7\"", &["6", "7"]).as_deref(), Some("7"));
        assert_eq!(found("-7.0", &["7", "-7"]).as_deref(), Some("-7"));
        assert_eq!(found("\"7\"", &["7", "\"7\""]).as_deref(), Some("\"7\""));
        assert_eq!(found("7.0", &["7", "\"7\""]), None);
        for key in ["7.5", "\"+7\"", "\"07\"", "\"\"", "\"x\""] {
            assert_eq!(found(key, &["7"]), None, "{key}");
        }
    }

    fn json(text: &str) -> Json {
        Json::new(text.to_owned()).unwrap()
    }
}
