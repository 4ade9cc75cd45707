//! What the user says of tools: `get_*=read`.

use ridethrough::machine::hints::{OperatorHints, ToolHint};

/// What is said of the tools whose names match a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SaidHint {
    pub(crate) pattern: String,
    pub(crate) hint: ToolHint,
}

/// Parses a pattern of tools and what they do.
pub(crate) fn parse(text: &str) -> Result<SaidHint, String> {
    let said = text.rsplit_once('=').filter(|(pattern, _)| !pattern.is_empty());
    let (pattern, word) = said.ok_or(HINTS)?;
    let hint = of_word(word).ok_or(HINTS)?;
    Ok(SaidHint { pattern: pattern.to_owned(), hint })
}

/// Returns what a word says of tools.
pub(crate) fn of_word(word: &str) -> Option<ToolHint> {
    match word {
        "read" => Some(ToolHint::Read),
        "write" => Some(ToolHint::Write),
        _ => None,
    }
}

/// Puts together what is said of tools.
pub(crate) fn together(hints: Vec<SaidHint>, repeatable: &[String]) -> OperatorHints {
    let mut all = OperatorHints::default();
    hints.into_iter().for_each(|SaidHint { pattern, hint }| all.hint(pattern, hint));
    repeatable.iter().for_each(|pattern| all.repeat(pattern));
    all
}

pub(super) const HINTS: &str =
    "must be `TOOL=read` or `TOOL=write`, where `*` stands for any letters";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_is_a_pattern_and_one_of_two_words() {
        let get = SaidHint { pattern: "get_*".into(), hint: ToolHint::Read };
        assert_eq!(parse("get_*=read"), Ok(get));
        let odd = SaidHint { pattern: "a=b".into(), hint: ToolHint::Write };
        assert_eq!(parse("a=b=write"), Ok(odd));
        for wrong in ["get_*", "=read", "get_*=Read", "get_*=", ""] {
            assert_eq!(parse(wrong), Err(HINTS.to_owned()), "{wrong}");
        }
    }
}
