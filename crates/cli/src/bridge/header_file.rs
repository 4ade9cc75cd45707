//! Headers in a file, one on a line. No line is ever shown: each may hold a secret.

use std::path::Path;

use crate::misuse::Misuse;

/// Returns the lines of a file that are headers; `#` begins a comment.
pub(super) fn read(path: &Path) -> Result<Vec<String>, Misuse> {
    let text = std::fs::read_to_string(path).map_err(|error| Misuse {
        what: format!("the header file `{}` cannot be read: {error}", path.display()),
        tried: "it was opened; nothing was sent".to_owned(),
        hint: "name a file with a header on each line, `X-Key: ${VAR}` for example".to_owned(),
    })?;
    Ok(lines(&text))
}

fn lines(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim);
    lines.filter(|it| !it.is_empty() && !it.starts_with('#')).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_empty_lines_are_no_headers() {
        assert_eq!(lines("# mine\n\n X-A: 1#2 \r\nX-B: 2"), ["X-A: 1#2", "X-B: 2"]);
    }

    #[test]
    fn a_file_that_is_not_there_is_told_by_its_name() {
        let refused = read(Path::new("no/such/file")).unwrap_err().to_string();

        assert!(refused.contains("`no/such/file` cannot be read"), "{refused}");
    }
}
