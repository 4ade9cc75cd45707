//! Cuts Rust source into words and signs, and drops what is not code: comments, strings, character
//! literals and white space.
//!
//! It knows just enough of the language for that. Numbers come out as words, `::` is one token, and
//! every other sign is a token of one character.

/// One word or sign, and its line (the first is 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    /// The word or sign as written.
    pub text: &'a str,
    /// The line it starts on.
    pub line: usize,
}

impl Token<'_> {
    /// Whether this is a word (a name, a keyword or a number) and not a sign.
    pub fn is_word(&self) -> bool {
        self.text.starts_with(is_word_char)
    }
}

/// Returns the tokens of `source`. Unfinished comments and strings reach to the end of the source.
pub fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut rest = source;
    let mut line = 1;
    while let Some((piece, length)) = first_piece(rest) {
        let (text, tail) = rest.split_at(length);
        if piece == Piece::Code {
            found.push(Token { text, line });
        }
        line += text.matches('\n').count();
        rest = tail;
    }
    found
}

#[derive(PartialEq)]
enum Piece {
    Code,
    Silent,
}

fn first_piece(rest: &str) -> Option<(Piece, usize)> {
    let first = rest.chars().next()?;
    let piece = if rest.starts_with("//") {
        (Piece::Silent, rest.find('\n').unwrap_or(rest.len()))
    } else if rest.starts_with("/*") {
        (Piece::Silent, block_comment(rest))
    } else if first == '"' {
        (Piece::Silent, string(rest))
    } else if first == '\'' {
        (Piece::Silent, character_or_tick(rest))
    } else if let Some(length) = raw_string(rest) {
        (Piece::Silent, length)
    } else if is_word_char(first) {
        (Piece::Code, word(rest))
    } else if rest.starts_with("::") {
        (Piece::Code, 2)
    } else if first.is_whitespace() {
        (Piece::Silent, first.len_utf8())
    } else {
        (Piece::Code, first.len_utf8())
    };
    Some(piece)
}

/// Returns the length of a block comment; Rust lets them nest.
fn block_comment(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while let Some(step) = rest[at..].find(['/', '*']) {
        at += step;
        match rest.get(at..at + 2) {
            Some("/*") => (depth, at) = (depth + 1, at + 2),
            Some("*/") => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

fn string(rest: &str) -> usize {
    let mut is_escaped = false;
    for (at, character) in rest.char_indices().skip(1) {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

fn raw_string(rest: &str) -> Option<usize> {
    let after = ["r", "br", "cr"].iter().find_map(|prefix| rest.strip_prefix(prefix))?;
    let body = after.trim_start_matches('#');
    let hashes = after.len() - body.len();
    let text = body.strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let tail = text.find(&close).map_or(0, |at| text.len() - at - close.len());
    Some(rest.len() - tail)
}

/// Returns the length of a character literal, or 1 for the tick of a lifetime or a loop label.
fn character_or_tick(rest: &str) -> usize {
    let mut inside = rest[1..].chars();
    match inside.next() {
        Some('\\') => {
            // The escaped character may itself be a tick, so the closing one is searched behind it.
            let close = rest.get(3..).and_then(|tail| tail.find('\''));
            close.map_or(rest.len(), |at| 3 + at + 1)
        }
        Some(character) if inside.as_str().starts_with('\'') => 1 + character.len_utf8() + 1,
        _ => 1,
    }
}

fn word(rest: &str) -> usize {
    let raw = if rest.starts_with("r#") { 2 } else { 0 };
    rest[raw..].find(|c| !is_word_char(c)).map_or(rest.len(), |at| raw + at)
}

fn is_word_char(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_leave_nothing_behind() {
        let source = "a // crate::x\n/* b /* nested */ still */ c /// doc";

        assert_eq!(words(source), ["a", "c"]);
    }

    #[test]
    fn strings_leave_nothing_behind() {
        let source = r####"a("crate::x \" y", r#"crate::"z"#, b"w", br##"v"# u"##) b"####;

        assert_eq!(words(source), ["a", "(", ",", ",", "b", ",", ")", "b"]);
    }

    #[test]
    fn a_quote_in_a_character_literal_opens_no_string() {
        let source = r#"['"', '\'', '\\', '\u{22}', 'é'] a"#;

        assert_eq!(words(source), ["[", ",", ",", ",", ",", "]", "a"]);
    }

    #[test]
    fn a_lifetime_is_no_character_literal() {
        assert_eq!(words("<'a, 'b> x"), ["<", "a", ",", "b", ">", "x"]);
    }

    #[test]
    fn a_raw_name_is_one_word() {
        assert_eq!(words("r#mod::x"), ["r#mod", "::", "x"]);
    }

    #[test]
    fn lines_are_counted_through_comments_and_strings() {
        let source = "/*\n*/ a \"\n\" b\nc";

        let lines: Vec<_> = tokens(source).iter().map(|token| token.line).collect();
        assert_eq!(lines, [2, 3, 4]);
    }

    fn words(source: &str) -> Vec<&str> {
        tokens(source).iter().map(|token| token.text).collect()
    }
}
