//! Headers as people write them: `NAME: VALUE`, with variables in the value.

/// Returns the name in lower case, for comparisons.
pub(super) fn name(text: &str) -> String {
    text.split(':').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Returns name and value, with variables replaced. Errors never contain a value.
pub(crate) fn parse(
    text: &str,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<(String, String), String> {
    let Some((name, value)) = text.split_once(':') else {
        return Err("a header has no colon between its name and its value".to_owned());
    };
    let name = name.trim();
    let value =
        expand(value.trim(), variable).map_err(|fault| format!("header `{name}`: {fault}"))?;
    Ok((name.to_owned(), value))
}

/// Replaces each `${VAR}` by the variable's value.
pub(crate) fn expand(
    text: &str,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<String, String> {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, behind) = after.split_once('}').ok_or("`${` without `}`")?;
        if !is_name(name) {
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
pub(super) fn is_name(text: &str) -> bool {
    let is_letter = |it: char| it.is_ascii_alphanumeric() || it == '_';
    !text.is_empty()
        && text.chars().all(is_letter)
        && !text.starts_with(|it: char| it.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_in_the_value_are_replaced_and_nothing_else() {
        let read = |text| parse(text, |name| (name == "KEY").then(|| "${KEY}x".to_owned()));

        assert_eq!(read(" X-Key : a${KEY}b${KEY} ").unwrap().1, "a${KEY}xb${KEY}x");
        assert_eq!(read("X-Key: $KEY").unwrap(), ("X-Key".into(), "$KEY".into()));
        assert_eq!(read("X-Url: http://a:1").unwrap().1, "http://a:1");
    }

    #[test]
    fn what_is_wrong_is_told_without_the_value() {
        let read = |text| parse(text, |_| None).unwrap_err();

        assert_eq!(
            read("X-Key: s3cret${MISSING}"),
            "header `X-Key`: the variable `MISSING` is not set"
        );
        for text in ["s3cret", "X-Key: s3cret${", "X-Key: ${s3 cret}"] {
            assert!(!read(text).contains("s3"), "{text}");
        }
    }
}
