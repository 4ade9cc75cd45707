//! Variables in config files, as each host writes them. A text that the host does not treat as a variable
//! stays unchanged; a variable that cannot be filled in is an error that names it.

use std::fmt;
use std::path::Path;

/// How variables are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// The forms of both `Editor` and `Shell`: for files that several hosts read.
    Any,
    /// `$NAME`, `${NAME}` and `${NAME:-default}`: Gemini CLI.
    Dollar,
    /// `${env:NAME}`, `${userHome}`, `${workspaceFolder}`: VS Code and its relatives.
    Editor,
    /// The host has no variables.
    None,
    /// `${NAME}` and `${NAME:-default}`: Claude Code.
    Shell,
}

/// The sources of values for variables.
#[derive(Clone, Copy)]
pub(crate) struct VariableScope<'a> {
    pub(crate) environment: &'a dyn Fn(&str) -> Option<String>,
    pub(crate) home: Option<&'a Path>,
    /// The project that a file belongs to.
    pub(crate) workspace: Option<&'a Path>,
    /// Whether files that a variable names may be read.
    pub(crate) may_read: bool,
}

/// A variable that cannot be filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unfilled {
    /// The host asks a person, or a command of its own.
    Asked(String),
    /// The folder of the project that is open in the host.
    Project,
    /// The variable is set nowhere.
    Unset(String),
}

impl fmt::Display for Unfilled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked(name) => write!(f, "`${{{name}}}`, which only the editor can ask for"),
            Self::Project => f.write_str("the folder of the project that is open in its host"),
            Self::Unset(name) => write!(f, "the variable `{name}`, which is not set"),
        }
    }
}

/// Returns the text with its variables filled in.
pub(crate) fn expand(
    text: &str,
    dialect: Dialect,
    scope: VariableScope<'_>,
) -> Result<String, Unfilled> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        expanded.push_str(before);
        let Some(after) = after.strip_prefix('{') else {
            let name = if dialect == Dialect::Dollar { bare_name(after) } else { "" };
            if is_name(name) {
                expanded.push_str(&set(name, scope)?)
            } else {
                expanded.extend(["$", name])
            }
            rest = &after[name.len()..];
            continue;
        };
        let Some((inside, behind)) = after.split_once('}') else {
            expanded.push_str("${");
            rest = after;
            continue;
        };
        match filled(inside, dialect, scope)? {
            Some(value) => expanded.push_str(&value),
            None => expanded.extend(["${", inside, "}"]),
        }
        rest = behind;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

/// Returns the value of `${inside}`; `None` if this is not a variable here.
fn filled(
    inside: &str,
    dialect: Dialect,
    scope: VariableScope<'_>,
) -> Result<Option<String>, Unfilled> {
    let set = |name: &str| set(name, scope).map(Some);
    let is_editor = matches!(dialect, Dialect::Any | Dialect::Editor);
    let is_shell = matches!(dialect, Dialect::Any | Dialect::Dollar | Dialect::Shell);
    let path = |path: Option<&Path>| {
        let path = path.ok_or_else(|| Unfilled::Unset(inside.to_owned()))?;
        Ok(Some(path.to_string_lossy().into_owned()))
    };
    match inside.split_once(':') {
        Some(("env", name)) if is_editor => set(name),
        Some(("input" | "command", _)) if is_editor => Err(Unfilled::Asked(inside.to_owned())),
        Some((name, default)) if is_shell && is_name(name) && default.starts_with('-') => {
            // As in a shell, an empty variable counts as unset.
            let value = (scope.environment)(name).filter(|value| !value.is_empty());
            Ok(Some(value.unwrap_or_else(|| default[1..].to_owned())))
        }
        None if is_editor && inside == "userHome" => path(scope.home),
        None if is_editor && inside == "workspaceFolder" => path(scope.workspace),
        None if is_shell && is_name(inside) => set(inside),
        _ => Ok(None),
    }
}

/// Returns the text with its variables as a shell writes them: that is what our own file has. What is no
/// variable stays as it is, even if it would be one for a shell.
pub(crate) fn in_shell(text: &str, dialect: Dialect) -> Result<String, Unfilled> {
    let is_editor = matches!(dialect, Dialect::Any | Dialect::Editor);
    let mut written = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        written.push_str(before);
        let inside = after.strip_prefix('{').and_then(|it| it.split_once('}'));
        let Some((inside, behind)) = inside else {
            let name = if dialect == Dialect::Dollar { bare_name(after) } else { "" };
            if is_name(name) {
                written.extend(["${", name, "}"]);
            } else {
                written.extend(["$", name]);
            }
            rest = &after[name.len()..];
            continue;
        };
        let inside = match inside.split_once(':') {
            Some(("env", name)) if is_editor => name,
            Some(("input" | "command", _)) if is_editor => {
                return Err(Unfilled::Asked(inside.to_owned()));
            }
            None if is_editor && inside == "userHome" => "HOME",
            None if is_editor && inside == "workspaceFolder" => return Err(Unfilled::Project),
            _ => inside,
        };
        written.extend(["${", inside, "}"]);
        rest = behind;
    }
    written.push_str(rest);
    Ok(written)
}

fn set(name: &str, scope: VariableScope<'_>) -> Result<String, Unfilled> {
    (scope.environment)(name).ok_or_else(|| Unfilled::Unset(name.to_owned()))
}

/// Whether a text has a variable that our own bridge would fill in.
pub(crate) fn has_names(text: &str) -> bool {
    let parts = text.split("${").skip(1).filter_map(|it| it.split_once('}'));
    parts.into_iter().any(|(inside, _)| is_name(inside) || inside.contains(":-"))
}

/// Returns the beginning of a text that could be a name.
fn bare_name(text: &str) -> &str {
    let end = text.find(|it: char| it != '_' && !it.is_ascii_alphanumeric());
    &text[..end.unwrap_or(text.len())]
}

fn is_name(text: &str) -> bool {
    let is_part = |it: char| it == '_' || it.is_ascii_alphanumeric();
    !text.is_empty()
        && text.chars().all(is_part)
        && !text.starts_with(|it: char| it.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str, dialect: Dialect) -> Result<String, Unfilled> {
        let environment = |name: &str| match name {
            "TOKEN" => Some("t0k".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        let home = Some(Path::new("/home/me"));
        expand(
            text,
            dialect,
            VariableScope { environment: &environment, home, workspace: None, may_read: false },
        )
    }

    #[test]
    fn each_dialect_fills_in_its_own_variables_and_leaves_the_others() {
        let text = "${TOKEN} ${env:TOKEN} $TOKEN ${userHome}";
        let cases = [
            (Dialect::Any, "t0k t0k $TOKEN /home/me"),
            (Dialect::Editor, "${TOKEN} t0k $TOKEN /home/me"),
            (Dialect::None, text),
        ];
        for (dialect, expected) in cases {
            assert_eq!(filled(text, dialect).as_deref(), Ok(expected), "{dialect:?}");
        }
        assert_eq!(filled("$TOKEN-${TOKEN}$ $1", Dialect::Dollar).unwrap(), "t0k-t0k$ $1");
        assert_eq!(filled("${TOKEN} ${env:TOKEN}", Dialect::Shell).unwrap(), "t0k ${env:TOKEN}");
        let unset = Err(Unfilled::Unset("userHome".to_owned()));
        assert_eq!(filled(text, Dialect::Shell), unset, "to a shell this is a name like any other");
    }

    #[test]
    fn every_dialect_can_be_written_as_a_shell_writes_it() {
        let written = |text, dialect| in_shell(text, dialect);

        assert_eq!(
            written("a ${env:B}/${userHome} $C ${D}", Dialect::Editor).unwrap(),
            "a ${B}/${HOME} $C ${D}"
        );
        assert_eq!(written("$A-${B:-c}$ $1", Dialect::Dollar).unwrap(), "${A}-${B:-c}$ $1");
        assert_eq!(written("${A ${env:B}", Dialect::Shell).unwrap(), "${A ${env:B}");
        assert!(matches!(written("${input:key}", Dialect::Any), Err(Unfilled::Asked(_))));
        assert_eq!(written("${workspaceFolder}/x", Dialect::Editor), Err(Unfilled::Project));
    }

    #[test]
    fn a_default_stands_in_for_what_is_not_set_or_empty() {
        let shell = |text| filled(text, Dialect::Shell).unwrap();

        assert_eq!(shell("${TOKEN:-none}"), "t0k");
        assert_eq!(shell("${NOWHERE:-https://a.example}/mcp"), "https://a.example/mcp");
        assert_eq!(shell("${EMPTY:-}x${EMPTY}"), "x");
    }

    #[test]
    fn what_cannot_be_filled_in_is_named() {
        let unset = filled("a ${NOWHERE}", Dialect::Shell).unwrap_err();
        let asked = filled("${input:api-key}", Dialect::Editor).unwrap_err();

        assert_eq!(unset.to_string(), "the variable `NOWHERE`, which is not set");
        assert_eq!(asked.to_string(), "`${input:api-key}`, which only the editor can ask for");
        assert!(filled("${workspaceFolder}", Dialect::Editor).is_err());
    }

    #[test]
    fn what_is_no_variable_stays() {
        for text in ["${", "a ${TOKEN", "${}", "${a b}", "${1}", "$${x y}$", "}${"] {
            assert_eq!(filled(text, Dialect::Shell).unwrap(), text);
        }
    }
}
