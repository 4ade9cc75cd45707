//! Pages in Markdown of which a program writes a part.

use std::path::Path;

use anyhow::{Context, Result};

/// Replaces what stands in a file between the marks `<!-- NAME: begin -->` and `<!-- NAME: end -->`.
///
/// # Errors
///
/// Fails if the file has no marks, or cannot be written.
pub fn write_between_marks(path: &Path, name: &str, text: &str) -> Result<()> {
    let (begin, end) = (format!("<!-- {name}: begin -->"), format!("<!-- {name}: end -->"));
    let page = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let page = between(&page, &begin, &end, text);
    let page = page.with_context(|| format!("`{}` has no marks of `{name}`", path.display()))?;
    Ok(std::fs::write(path, page)?)
}

fn between(page: &str, begin: &str, end: &str, text: &str) -> Option<String> {
    let (before, rest) = page.split_once(begin).filter(|_| page.matches(begin).count() == 1)?;
    let (_, after) = rest.split_once(end)?;
    Some(format!("{before}{begin}\n\n{}\n\n{end}{after}", text.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_marks_is_replaced() {
        let page = "before\n<begin>\nold\n<end>\nafter";

        let new = between(page, "<begin>", "<end>", "| a |\n");

        assert_eq!(new.as_deref(), Some("before\n<begin>\n\n| a |\n\n<end>\nafter"));
        assert_eq!(between("no marks", "<begin>", "<end>", ""), None);
        assert_eq!(between("<begin><begin><end>", "<begin>", "<end>", ""), None);
    }
}
