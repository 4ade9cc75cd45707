//! The tools and prompts of the suite as they are listed, and the contents that they share.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

/// A list that has one more entry after every other change. It is the program's, because there may be no session.
pub(super) struct ChangingList {
    names: &'static [&'static str],
    more: &'static str,
    has_more: AtomicBool,
}

impl ChangingList {
    const fn new(names: &'static [&'static str], more: &'static str) -> Self {
        Self { names, more, has_more: AtomicBool::new(false) }
    }

    pub(super) fn change(&self) {
        self.has_more.fetch_not(Ordering::Relaxed);
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        let has_more = self.has_more.load(Ordering::Relaxed);
        self.names.iter().copied().chain(has_more.then_some(self.more))
    }
}

pub(super) fn tool(name: &str) -> Value {
    let object = |properties: Value, required: &[&str]| json!({ "type": "object", "properties": properties, "required": required });
    let schema = match name {
        "json_schema_2020_12_tool" => schema_2020(),
        "test_elicitation" => object(json!({ "message": { "type": "string" } }), &["message"]),
        "test_sampling" => object(json!({ "prompt": { "type": "string" } }), &["prompt"]),
        "test_x_mcp_header" => {
            let region = json!({ "type": "string", "x-mcp-header": "Region" });
            object(json!({ "region": region }), &[])
        }
        _ => object(json!({}), &[]),
    };
    let description = format!("See `{name}` in the suite.");
    json!({ "name": name, "description": description, "inputSchema": schema })
}

pub(super) fn prompt(name: &str) -> Value {
    let takes: &[&str] = match name {
        "test_prompt_with_arguments" => &["arg1", "arg2"],
        "test_prompt_with_embedded_resource" => &["resourceUri"],
        _ => &[],
    };
    let argument = |name: &&str| json!({ "name": name, "required": true });
    let arguments: Vec<_> = takes.iter().map(argument).collect();
    json!({ "name": name, "description": "See the suite.", "arguments": arguments })
}

fn schema_2020() -> Value {
    let string = json!({ "type": "string" });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": { "street": string, "city": string },
            },
        },
        "properties": {
            "name": string,
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": string,
            "email": string,
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": {
            "properties": { "contactMethod": { "const": "phone" } },
            "required": ["contactMethod"],
        },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    })
}

pub(super) fn text(value: &str) -> Value {
    json!({ "type": "text", "text": value })
}

pub(super) fn image() -> Value {
    json!({ "type": "image", "data": PIXEL, "mimeType": "image/png" })
}

pub(super) fn sound() -> Value {
    json!({ "type": "audio", "data": SOUND, "mimeType": "audio/wav" })
}

pub(super) fn embedded(uri: &str, kind: &str, value: &str) -> Value {
    json!({ "type": "resource", "resource": { "uri": uri, "mimeType": kind, "text": value } })
}

pub(super) static TOOLS: ChangingList = ChangingList::new(TOOL_NAMES, "test_added_tool");
pub(super) static PROMPTS: ChangingList = ChangingList::new(PROMPT_NAMES, "test_added_prompt");

const TOOL_NAMES: &[&str] = &[
    "json_schema_2020_12_tool",
    "test_audio_content",
    "test_elicitation",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_embedded_resource",
    "test_error_handling",
    "test_image_content",
    "test_input_required_result_capabilities",
    "test_input_required_result_elicitation",
    "test_input_required_result_list_roots",
    "test_input_required_result_multi_round",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_request_state",
    "test_input_required_result_sampling",
    "test_input_required_result_tampered_state",
    "test_logging_tool",
    "test_missing_capability",
    "test_multiple_content_types",
    "test_reconnection",
    "test_sampling",
    "test_simple_text",
    "test_streaming_elicitation",
    "test_tool_with_logging",
    "test_tool_with_progress",
    "test_trigger_prompt_change",
    "test_trigger_tool_change",
    "test_x_mcp_header",
];

const PROMPT_NAMES: &[&str] = &[
    "test_input_required_result_prompt",
    "test_prompt_with_arguments",
    "test_prompt_with_embedded_resource",
    "test_prompt_with_image",
    "test_simple_prompt",
];

pub(super) const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
const SOUND: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";
