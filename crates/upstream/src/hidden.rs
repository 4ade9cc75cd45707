//! The tools that are hidden from callers: removed from lists, and refused when they are called.

use ridethrough_wire::message::code::INVALID_PARAMS;
use ridethrough_wire::message::splice;
use ridethrough_wire::message::{Answer, Json};
use ridethrough_wire::patterns;

/// Patterns of tool names, as mcp-remote has them: `*` stands for any letters, and case does not matter.
///
/// ```
/// use ridethrough_upstream::Hidden;
///
/// let hidden = Hidden::new(["delete*", "*account*"]);
/// assert!(hidden.hides("deleteTask") && hidden.hides("getAccount"));
/// assert!(!hidden.hides("undelete"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Hidden {
    /// The patterns, in lower case.
    patterns: Vec<String>,
}

impl Hidden {
    /// Creates patterns that hide the tools that match one of them.
    pub fn new(patterns: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let patterns = patterns.into_iter().map(|it| it.into().to_lowercase()).collect();
        Self { patterns }
    }

    /// Whether a tool of this name is hidden.
    pub fn hides(&self, tool: &str) -> bool {
        let tool = tool.to_lowercase();
        patterns::matches_any(&self.patterns, &tool)
    }

    /// Returns the result of `tools/list` without the hidden tools.
    pub(crate) fn filter(&self, result: Json) -> Json {
        let tools = result.member("tools").and_then(|tools| tools.elements());
        let Some(tools) = tools.filter(|_| !self.patterns.is_empty()) else { return result };
        let shown: Vec<&Json> = tools.iter().filter(|tool| self.shows(tool)).collect();
        if shown.len() == tools.len() {
            return result;
        }
        splice::with_member(&result, "tools", &splice::array(shown))
    }

    /// Whether the caller sees this element of a list of tools.
    pub(crate) fn shows(&self, tool: &Json) -> bool {
        if self.patterns.is_empty() {
            return true;
        }
        let name = tool.member("name").and_then(|name| name.read::<String>());
        name.is_none_or(|name| !self.hides(&name))
    }

    /// Returns the answer to a call of a hidden tool; `None` if the tool is not hidden.
    pub(crate) fn refusal(&self, params: Option<&Json>) -> Option<Answer> {
        if self.patterns.is_empty() {
            return None;
        }
        let tool: String = params?.member("name")?.read()?;
        let words = || {
            format!(
                "tools/call `{tool}` was not sent: the tool is hidden\n  \
                 tried: nothing was sent\n\
                 hint: take the `--ignore-tool` that matches it away from the bridge's arguments"
            )
        };
        self.hides(&tool).then(|| Answer::refusal(INVALID_PARAMS, &words()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_keeps_its_bytes_but_for_what_is_hidden() {
        let list = |tools: &str| {
            Json::new(format!(r#"{{"nextCursor":"1", "tools" :{tools},"_meta":{{"n":1.10}}}}"#))
                .unwrap()
        };
        let (hidden, whole) = (Hidden::new(["Del*"]), r#"[ {"name":"echo","n":1.10} , {"n":1} ]"#);

        let filtered = hidden.filter(list(r#"[{"name":"echo","n":1e2},{"name":"delAll"}]"#));
        let untouched = hidden.filter(list(whole));

        assert_eq!(filtered, list(r#"[{"name":"echo","n":1e2}]"#));
        assert_eq!(untouched, list(whole));
    }

    #[test]
    fn only_calls_of_hidden_tools_are_refused() {
        let params = |text: &'static str| Json::new(text).unwrap();
        let hidden = Hidden::new(["del*"]);

        let refusal = hidden.refusal(Some(&params(r#"{"name":"Delete"}"#))).unwrap();

        assert_eq!(refusal.error().unwrap().code, -32602);
        assert!(hidden.refusal(Some(&params(r#"{"name":"echo"}"#))).is_none());
        assert!(hidden.refusal(None).is_none());
    }
}
