//! Tools, and the result of calling one.

use ridethrough_wire::message::Json;
use serde::Deserialize;

use super::content::{Content, text};
use super::tasks::{self, TaskSupport};
use super::{Listed, absent_if_null, keeps_its_json, read};

/// A tool of a server.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Tool {
    /// The name to call it by.
    pub name: String,
    /// The name for people.
    #[serde(default)]
    pub title: Option<String>,
    /// The description, for models and people.
    #[serde(default)]
    pub description: Option<String>,
    /// The JSON Schema of its arguments.
    #[serde(default = "Json::empty_object")]
    pub input_schema: Json,
    /// The JSON Schema of its structured content, if it has one.
    #[serde(default)]
    pub output_schema: Option<Json>,
    /// The tool's annotations. A server may lie here.
    #[serde(default, deserialize_with = "absent_if_null")]
    pub annotations: ToolAnnotations,
    /// Whether it can be called as a task, as a server of 2025-11-25 declares it.
    #[serde(default, rename = "execution", deserialize_with = "tasks::support")]
    pub task_support: TaskSupport,
    /// The whole tool, as it was sent.
    #[serde(skip, default = "Json::empty_object")]
    pub json: Json,
}

/// The annotations of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ToolAnnotations {
    /// The name for people.
    pub title: Option<String>,
    /// Whether it only reads: the client may then send a call in doubt again.
    pub read_only_hint: Option<bool>,
    /// Whether it may destroy something.
    pub destructive_hint: Option<bool>,
    /// Whether a second run changes nothing more.
    pub idempotent_hint: Option<bool>,
    /// Whether it reaches beyond the server.
    pub open_world_hint: Option<bool>,
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolResult {
    /// The content of the result.
    #[serde(default, deserialize_with = "absent_if_null")]
    pub content: Vec<Content>,
    /// The content as JSON, if the tool has an output schema.
    #[serde(default)]
    pub structured_content: Option<Json>,
    /// Whether the tool reports a failure. It ran: this is an answer, not an [`Error`](crate::Error), and
    /// `content` says why.
    #[serde(default, deserialize_with = "absent_if_null")]
    pub is_error: bool,
    /// The whole result, as it was sent.
    #[serde(skip, default = "Json::empty_object")]
    pub json: Json,
}

impl ToolResult {
    /// Returns all text in the content, each piece on its own lines.
    pub fn text(&self) -> String {
        text(&self.content)
    }
}

impl Listed for Tool {
    const METHOD: &'static str = "tools/list";
    const KEY: &'static str = "tools";
}

keeps_its_json!(Tool, ToolResult);

/// Reads a result part by part: structured content stays a slice of the text and is not parsed, whatever its
/// size.
pub(crate) fn read_result(json: Json) -> Result<ToolResult, serde_json::Error> {
    match parts(&json) {
        Some(result) => Ok(ToolResult { json, ..result }),
        // This parser says what is wrong, and where.
        None => read(json),
    }
}

/// Reads the parts of a result; `None` if one of them is invalid.
fn parts(json: &Json) -> Option<ToolResult> {
    if !json.as_bytes().starts_with(b"{") {
        return None;
    }
    let there = |value: &Json| value.as_bytes() != "null";
    let [content, structured_content, is_error] =
        json.pick(["content", "structuredContent", "isError"]).map(|value| value.filter(there));
    Some(ToolResult {
        content: content.map_or(Some(Vec::new()), contents)?,
        structured_content,
        is_error: is_error.map_or(Some(false), |value| value.read())?,
        json: Json::empty_object(),
    })
}

fn contents(json: Json) -> Option<Vec<Content>> {
    Some(json.elements()?.into_iter().map(Content::from_json).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_read_in_parts_as_it_is_read_whole() {
        for text in [
            "{}",
            r#"{"content":[{"type":"text","text":"a"}],"structuredContent":{"a":[1]},"isError":true}"#,
            r#"{"content":null,"structuredContent":null,"isError":null}"#,
            r#"{"content":[{"type":"image","data":"","mimeType":"x"},{"type":"acme"},7]}"#,
            r#"{"structuredContent":7,"_meta":{}}"#,
            r#"{"content":7}"#,
            r#"{"isError":"yes"}"#,
            "[]",
            "null",
        ] {
            let json = Json::new(text).unwrap();

            let (parts, whole) = (read_result(json.clone()), read::<ToolResult>(json));

            assert_eq!(parts.map_err(|it| it.to_string()), whole.map_err(|it| it.to_string()));
        }
    }

    #[test]
    fn of_two_members_of_one_name_the_last_wins() {
        let json = r#"{"isError":true,"content":[{"type":"text","text":"a"}],"isError":false,"content":[]}"#;

        let result = read_result(Json::new(json).unwrap()).unwrap();

        assert!(result.content.is_empty() && !result.is_error);
    }

    #[test]
    fn structured_content_is_a_part_of_the_text() {
        let json = Json::new(r#"{"structuredContent":{"a":1}}"#).unwrap();

        let result = read_result(json.clone()).unwrap();

        let structured = result.structured_content.unwrap();
        assert!(json.as_bytes().as_ptr_range().contains(&structured.as_bytes().as_ptr()));
    }

    #[test]
    fn a_tool_keeps_what_is_not_named_here() {
        let text = r#"{"name":"a","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"icons":[1.10]}"#;

        let tool: Tool = read(Json::new(text).unwrap()).unwrap();

        assert_eq!(tool.annotations.read_only_hint, Some(true));
        assert_eq!(tool.input_schema.as_str(), r#"{"type":"object"}"#);
        assert_eq!(tool.json.as_str(), text);
    }

    #[test]
    fn a_result_of_a_tool_needs_no_field_at_all() {
        let result: ToolResult = read(Json::empty_object()).unwrap();

        assert!(result.content.is_empty() && !result.is_error);
        assert_eq!(result.text(), "");
    }

    #[test]
    fn the_text_of_a_result_is_its_pieces_of_text() {
        let json = r#"{"content":[{"type":"text","text":"a"},{"type":"x"},{"type":"text","text":"b"}],"isError":true}"#;

        let result: ToolResult = read(Json::new(json).unwrap()).unwrap();

        assert_eq!(result.text(), "a\nb");
        assert!(result.is_error);
    }
}
