"""What the official suite asks servers with sessions for, on the Python SDK: its scenarios say what each tool does.

It takes the place of the surface of ../README.md, whose functions server.py looks up when it starts.
"""

import json
from typing import Any

import anyio
import surface
from mcp.shared.exceptions import MCPError

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
SOUND = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
IMAGE = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
OPTIONS = ["option1", "option2", "option3"]
TITLED = [{"const": f"value{at}", "title": f"Option {at}"} for at in (1, 2, 3)]
ENUMS = {
    "untitledSingle": {"type": "string", "enum": OPTIONS},
    "titledSingle": {"type": "string", "oneOf": TITLED},
    "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["One", "Two", "Three"]},
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": OPTIONS}},
    "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
}
DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}
SCHEMA_2020 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def embedded(uri: str, kind: str, value: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": value}}


PLAIN = {
    "test_simple_text": [text("This is a simple text response for testing.")],
    "test_image_content": [IMAGE],
    "test_audio_content": [{"type": "audio", "data": SOUND, "mimeType": "audio/wav"}],
    "test_embedded_resource": [
        embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    ],
    "test_multiple_content_types": [
        text("Multiple content types test:"),
        IMAGE,
        embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ],
}


async def with_logging(ctx: Any, _: dict[str, Any]) -> str:
    for data in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.session.send_log_message("info", data, None, ctx.request_id)
        await anyio.sleep(0.05)
    return "Tool with logging executed successfully"


async def with_progress(ctx: Any, _: dict[str, Any]) -> str:
    for done in (0, 50, 100):
        await ctx.session.report_progress(done, 100)
        await anyio.sleep(0.05)
    return "done"


async def fails(_: Any, __: dict[str, Any]) -> str:
    raise ValueError("This tool intentionally returns an error for testing")


async def reconnection(ctx: Any, _: dict[str, Any]) -> str:
    if ctx.close_sse_stream is not None:
        await ctx.close_sse_stream()
    await anyio.sleep(0.1)
    return "Reconnection test completed successfully."


async def sampling(ctx: Any, arguments: dict[str, Any]) -> str:
    asked = ctx.session.create_message(surface.prompted(arguments), max_tokens=100, related_request_id=ctx.request_id)
    return f"LLM response: {surface.said(await asked)}"


def form(message: str | None, properties: dict[str, Any], required: list[str]) -> Any:
    async def ask(ctx: Any, arguments: dict[str, Any]) -> str:
        schema = {"type": "object", "properties": properties, "required": required}
        answer = await ctx.session.elicit_form(message or arguments["message"], schema, ctx.request_id)
        return f"Elicitation completed: action={answer.action}, content={json.dumps(answer.content or {})}"

    return ask


async def echo(_: Any, arguments: dict[str, Any]) -> str:
    return json.dumps(arguments)


USER = {"username": {"type": "string"}, "email": {"type": "string"}}
RUN = {
    "test_tool_with_logging": with_logging,
    "test_tool_with_progress": with_progress,
    "test_error_handling": fails,
    "test_reconnection": reconnection,
    "test_sampling": sampling,
    "test_elicitation": form(None, USER, ["username", "email"]),
    "test_elicitation_sep1034_defaults": form("Please look at the defaults", DEFAULTS, []),
    "test_elicitation_sep1330_enums": form("Please choose", ENUMS, []),
    "json_schema_2020_12_tool": echo,
}
TAKES = {"test_sampling": ["prompt"], "test_elicitation": ["message"]}


def listed(name: str) -> dict[str, Any]:
    takes = {key: {"type": "string"} for key in TAKES.get(name, [])}
    schema = {"type": "object", "properties": takes, "required": list(takes)}
    is_2020 = name == "json_schema_2020_12_tool"
    return {"name": name, "description": f"See `{name}` in the suite.", "inputSchema": SCHEMA_2020 if is_2020 else schema}


async def list_tools(ctx: Any, params: Any) -> Any:
    return surface.of_json("ListToolsResult", tools=[listed(name) for name in (*PLAIN, *RUN)])


async def call_tool(ctx: Any, params: Any) -> Any:
    if params.name in PLAIN:
        return surface.of_json("CallToolResult", content=PLAIN[params.name])
    if params.name not in RUN:
        raise MCPError(code=-32602, message=f"Unknown tool: {params.name}")
    try:
        said, is_error = await RUN[params.name](ctx, params.arguments or {}), False
    except ValueError as error:
        said, is_error = str(error), True
    return surface.of_json("CallToolResult", content=[text(said)], isError=is_error)


RESOURCES = {
    "test://static-text": {"mimeType": "text/plain", "text": "This is the content of the static text resource."},
    "test://static-binary": {"mimeType": "image/png", "blob": PIXEL},
    "test://watched-resource": {"mimeType": "text/plain", "text": "Watched resource content"},
}


async def list_resources(ctx: Any, params: Any) -> Any:
    resources = [{"uri": uri, "name": uri[7:], "mimeType": it["mimeType"]} for uri, it in RESOURCES.items()]
    return surface.of_json("ListResourcesResult", resources=resources)


async def list_templates(ctx: Any, params: Any) -> Any:
    template = {"uriTemplate": "test://template/{id}/data", "name": "template", "mimeType": "application/json"}
    return surface.of_json("ListResourceTemplatesResult", resourceTemplates=[template])


async def read_resource(ctx: Any, params: Any) -> Any:
    uri = str(params.uri)
    found = RESOURCES.get(uri)
    if found is None and uri.startswith("test://template/") and uri.endswith("/data"):
        id = uri.removeprefix("test://template/").removesuffix("/data")
        made = {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}
        found = {"mimeType": "application/json", "text": json.dumps(made)}
    if found is None:
        raise MCPError(code=-32002, message=f"Resource not found: {uri}")
    return surface.of_json("ReadResourceResult", contents=[{"uri": uri, **found}])


PROMPTS = {
    "test_simple_prompt": [],
    "test_prompt_with_arguments": ["arg1", "arg2"],
    "test_prompt_with_embedded_resource": ["resourceUri"],
    "test_prompt_with_image": [],
}


async def list_prompts(ctx: Any, params: Any) -> Any:
    arguments = {name: [{"name": it, "required": True} for it in takes] for name, takes in PROMPTS.items()}
    prompts = [{"name": name, "description": "See the suite.", "arguments": it} for name, it in arguments.items()]
    return surface.of_json("ListPromptsResult", prompts=prompts)


async def get_prompt(ctx: Any, params: Any) -> Any:
    given = params.arguments or {}
    says = {
        "test_simple_prompt": lambda: [text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments": lambda: [
            text(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'")
        ],
        "test_prompt_with_embedded_resource": lambda: [
            embedded(given["resourceUri"], "text/plain", "Embedded resource content for testing."),
            text("Please process the embedded resource above."),
        ],
        "test_prompt_with_image": lambda: [IMAGE, text("Please analyze the image above.")],
    }
    if params.name not in says:
        raise MCPError(code=-32602, message=f"Unknown prompt: {params.name}")
    messages = [{"role": "user", "content": content} for content in says[params.name]()]
    return surface.of_json("GetPromptResult", messages=messages)


def take_over() -> None:
    for answer in (list_tools, call_tool, list_resources, list_templates, read_resource, list_prompts, get_prompt):
        setattr(surface, answer.__name__, answer)
