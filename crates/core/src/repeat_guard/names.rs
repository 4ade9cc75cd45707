//! Names of tools that say that the tool only reads.
//!
//! Most servers give no hints, so the name is all there is. A wrong guess costs that a repeat is sent, as it would be
//! without the guard.

/// Whether the first or the last word of a name says that the tool reads. Words end at `_`, `-`, `.`, `/` and where a
/// capital follows a small letter.
pub(super) fn is_of_reading(name: &str) -> bool {
    let mut words = words(name);
    let first = words.next();
    let last = words.last();
    [first, last]
        .into_iter()
        .flatten()
        .any(|word| READING.iter().any(|it| word.eq_ignore_ascii_case(it)))
}

fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(['_', '-', '.', '/']).flat_map(humps).filter(|word| !word.is_empty())
}

/// Splits `readFile` into `read` and `File`.
fn humps(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = word;
    std::iter::from_fn(move || {
        let starts = rest.char_indices().zip(rest.chars().skip(1));
        let hump = starts
            .filter(|((_, before), letter)| !before.is_uppercase() && letter.is_uppercase())
            .map(|((at, before), _)| at + before.len_utf8())
            .next();
        let (hump, behind) = rest.split_at(hump.unwrap_or(rest.len()));
        rest = behind;
        (!hump.is_empty()).then_some(hump)
    })
}

const READING: [&str; 9] =
    ["describe", "fetch", "get", "list", "read", "search", "snapshot", "status", "wait"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_whose_first_or_last_word_reads_is_one_of_reading() {
        for name in [
            "get",
            "get_user",
            "list-files",
            "readFile",
            "issue.search",
            "fs/read",
            "browserSnapshot",
            "pageGet",
            "Wait",
            "job_status",
            "describe_all",
        ] {
            assert!(is_of_reading(name), "{name}");
        }
        for name in
            ["pay", "getaway", "budget", "set_status_text", "already", "create_list_item", ""]
        {
            assert!(!is_of_reading(name), "{name}");
        }
    }
}
