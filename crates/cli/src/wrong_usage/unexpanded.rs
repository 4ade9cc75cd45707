//! Finds variables that neither the shell nor this program replaces: `--header 'X-Key: $KEY'` in single
//! quotes sends `$KEY`.

use std::ffi::OsString;

/// Returns warnings about the headers on a command line. Of their values only names of variables are shown.
pub(crate) fn warnings(words: impl Iterator<Item = OsString>) -> Vec<String> {
    let words: Vec<_> = words.map(|it| it.to_string_lossy().into_owned()).collect();
    let ours = words.split(|it| it == "--").next().unwrap_or_default();
    let values = ours.iter().zip(ours.iter().skip(1).map(Some).chain([None]));
    let values = values.filter_map(|(flag, next)| match flag.as_str() {
        "--header" => next.map(String::as_str),
        flag => flag.strip_prefix("--header="),
    });
    values.filter_map(warning).collect()
}

fn warning(header: &str) -> Option<String> {
    let (name, value) = header.split_once(':')?;
    // A secret may contain a `$`, so only a whole word in capital letters counts as a variable.
    let variable = value.split_whitespace().find_map(|word| {
        let variable = word.strip_prefix('$')?;
        let is_name = |it: char| it.is_ascii_uppercase() || it.is_ascii_digit() || it == '_';
        let is_variable = variable.starts_with(|it: char| it.is_ascii_uppercase() || it == '_')
            && variable.chars().all(is_name);
        is_variable.then_some(variable)
    })?;
    let name = name.trim();
    Some(format!(
        "warning: the header `{name}` is sent with `${variable}` as it stands: write `${{{variable}}}`, which is replaced here"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_that_nobody_replaces_is_told_and_nothing_else_of_a_value() {
        let told = |words: &[&str]| warnings(words.iter().map(|it| (*it).into()));

        let told_once = told(&["tools", "a", "--header", "Authorization: Bearer $TOKEN"]);

        assert_eq!(
            told_once,
            [
                "warning: the header `Authorization` is sent with `$TOKEN` as it stands: write `${TOKEN}`, which is \
              replaced here"
            ]
        );
        assert_eq!(told(&["tools", "--header=X-Key: $KEY_2"]).len(), 1);
        for value in ["X: ${KEY}", "X: s3$KEY", "X: $KEY-s3cret", "X: $lower", "X: $5", "X"] {
            assert!(told(&["tools", "--header", value]).is_empty(), "{value}");
        }
        assert!(told(&["tools", "--", "curl", "--header", "X: $KEY"]).is_empty());
    }
}
