//! What is shown to the server: headers as people write them, with variables of the environment.
//!
//! No value is ever told: each may be a secret.

use std::fmt;
use std::path::Path;

use crate::misuse::Misuse;
use crate::options::header;

/// Headers, and the token among them.
#[derive(Default, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) headers: Vec<(String, String)>,
    pub(super) token: Option<String>,
}

impl Shown {
    /// Everything, for telling one set of credentials from another.
    pub(super) fn pairs(&self) -> Vec<(&str, &str)> {
        let token = self.token.iter().map(|token| ("authorization", token.as_str()));
        let headers = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        headers.chain(token).collect()
    }

    fn add(&mut self, name: &str, value: String) -> Result<(), String> {
        if !name.eq_ignore_ascii_case("authorization") {
            self.headers.push((name.to_owned(), value));
            return Ok(());
        }
        let token =
            value.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let Some((_, token)) = token else {
            return Err("header `Authorization` must be `Bearer TOKEN`".to_owned());
        };
        self.token = Some(token.trim().to_owned());
        Ok(())
    }
}

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shown").finish_non_exhaustive()
    }
}

/// Everything that is to be shown, from flags, a file and the environment.
pub(super) fn read(
    flags: &[String],
    file: Option<&Path>,
    bearer: Option<&str>,
) -> Result<Shown, Misuse> {
    let fault = |what: String| Misuse {
        what,
        tried: "the headers were read; nothing was sent".to_owned(),
        hint:
            "write a header as `--header 'X-Key: ${VAR}'` and set the variable, or name one that \
               holds a token with `--bearer-env VAR`"
                .to_owned(),
    };
    let variable = |name: &str| std::env::var(name).ok();
    let mut shown = Shown::default();
    let lines = file.map(lines).transpose().map_err(fault)?.unwrap_or_default();
    for text in lines.iter().chain(flags) {
        let (name, value) = header::parse(text, variable).map_err(fault)?;
        shown.add(&name, value).map_err(fault)?;
    }
    if let Some(name) = bearer {
        let token = variable(name).map(|token| token.trim().to_owned()).filter(|it| !it.is_empty());
        let missing = || fault(format!("the variable `{name}` of `--bearer-env` is not set"));
        shown.token = Some(token.ok_or_else(missing)?);
    }
    Ok(shown)
}

fn lines(path: &Path) -> Result<Vec<String>, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("the header file `{}` cannot be read: {error}", path.display()))?;
    let lines = text.lines().map(str::trim);
    Ok(lines.filter(|it| !it.is_empty() && !it.starts_with('#')).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bearer_in_a_header_is_a_token_and_other_schemes_are_told() {
        let mut shown = Shown::default();

        shown.add("AUTHORIZATION", "bearer  t0ken".to_owned()).unwrap();
        shown.add("X-Team", "blue".to_owned()).unwrap();

        assert_eq!(shown.token.as_deref(), Some("t0ken"));
        assert_eq!(shown.pairs(), [("X-Team", "blue"), ("authorization", "t0ken")]);
        let fault = shown.add("Authorization", "Basic s3cret".to_owned()).unwrap_err();
        assert!(!fault.contains("s3cret"));
    }
}
