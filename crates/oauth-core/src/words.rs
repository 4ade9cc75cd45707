//! Makes words of a server fit for people: short, on one line, and without control characters.

/// Returns the text on one line, without control characters and no longer than a few sentences.
pub(crate) fn shown(text: &str) -> String {
    let is_plain = |letter: &char| !letter.is_control() && !is_direction(*letter);
    let mut letters = text.trim().chars().map(one_line).filter(is_plain);
    let mut shown: String = letters.by_ref().take(MOST_LETTERS).collect();
    if letters.next().is_some() {
        shown.push('…');
    }
    shown
}

/// Returns the words behind a colon, or nothing if there are none.
pub(crate) fn after_colon(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!(": {words}") }
}

/// Turns line breaks and tabs into spaces, so that words stay apart.
const fn one_line(letter: char) -> char {
    match letter {
        '\n' | '\r' | '\t' => ' ',
        letter => letter,
    }
}

/// Whether a character reverses the direction of text, which can make a terminal show another text.
const fn is_direction(letter: char) -> bool {
    matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

const MOST_LETTERS: usize = 300;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_no_control_characters_and_an_end() {
        assert_eq!(shown(" a\u{1b}[31mb\r\nc\u{202e}d "), "a[31mb  cd");
        assert_eq!(shown(&"x".repeat(1000)).chars().count(), 301);
    }
}
