//! A slow reader of `WWW-Authenticate`, which follows RFC 9110 word by word.

/// Returns the parameters of a line with one challenge; `None` if it has none or several, or breaks the rules
/// of RFC 9110, 11.3.
pub(crate) fn expected_params(line: &str) -> Option<Vec<(String, String)>> {
    let (scheme, mut rest) = line.split_once(' ')?;
    if scheme.is_empty() || !scheme.chars().all(is_token) {
        return None;
    }
    let mut params: Vec<(String, String)> = Vec::new();
    loop {
        rest = rest.trim_start_matches([' ', '\t']);
        let equals = rest.find('=')?;
        let name = rest[..equals].trim_end_matches([' ', '\t']);
        let is_known = params.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        if name.is_empty() || !name.chars().all(is_token) || is_known {
            return None;
        }
        let (value, after) = expected_value(rest[equals + 1..].trim_start_matches([' ', '\t']))?;
        params.push((name.to_owned(), value));
        rest = after.trim_start_matches([' ', '\t']);
        match rest.strip_prefix(',') {
            Some(more) => rest = more,
            None => return rest.is_empty().then_some(params),
        }
    }
}

/// Returns a token or a quoted text, and the rest behind it.
fn expected_value(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(|it| !is_token(it)).unwrap_or(text.len());
        return (end > 0).then(|| (text[..end].to_owned(), &text[end..]));
    };
    let mut value = String::new();
    let mut letters = quoted.char_indices();
    loop {
        match letters.next()? {
            (at, '"') => return Some((value, &quoted[at + 1..])),
            (_, '\\') => value.push(letters.next()?.1),
            (_, letter) => value.push(letter),
        }
    }
}

fn is_token(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(letter)
}
