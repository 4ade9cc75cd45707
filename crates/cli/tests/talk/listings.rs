//! Listings that answer what a person would otherwise have to know by heart: one tool in full, servers by
//! name, names that were nearly right, and bytes where they are wanted.

use ridethrough_lab::{Times, When};
use serde_json::json;

use crate::rig::Rig;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_tool_is_shown_with_all_that_is_inside_of_its_arguments() {
    let rig = Rig::new().await;
    rig.mcp.tools(nested());

    let page = rig.run(&["tools", "SERVER", "book"]).await;
    let json = rig.run(&["tools", "SERVER", "book", "--json"]).await;

    assert_eq!((page.code, json.code), (Some(0), Some(0)), "{page:?}");
    for words in [
        "book  Book a room\n",
        "no: it may destroy; a call in doubt is not sent again, unless you know better:\n    `--repeatable book`\n",
        "    room=one of \"blue\", \"red\", required (default \"red\")\n",
        "    guests=array of object\n        each of them:\n            name=string, required\n",
        "    when=object, required\n        who is asked\n        day=string, as `date`, required\n",
        "    destructiveHint: true\n    openWorldHint: false\n",
        "Answer\n    id=integer\n",
        &format!("ridethrough call {} book room=blue when.day=...\n", rig.url),
    ] {
        assert!(page.out.contains(words), "{words}:\n{}", page.out);
    }
    assert_eq!(json.json(), nested()[0]);
}

/// These types once read "array or null".
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_inside_of_lists_and_alternatives_is_shown() {
    let rig = Rig::new().await;
    let texts = json!({"type": "array", "items": {"type": "string"}});
    let colour = json!({"enum": ["red", "blue"]});
    let forms = json!([{"properties": {"id": {"type": "integer"}}}, {"properties": {"name": {"type": "string"}}}]);
    rig.mcp.tools(json!([{"name": "paint", "inputSchema": {"type": "object", "anyOf": forms,
        "$defs": {"colour": colour}, "properties": {
        "a": {"anyOf": [texts, {"type": "null"}]},
        "b": {"type": ["array", "null"], "items": {"type": "integer", "minimum": 1}},
        "c": {"type": "array", "items": colour},
        "d": {"anyOf": [{"const": "x"}, {"const": "y"}]},
        "e": {"allOf": [{"$ref": "#/$defs/colour"}]},
        "f": {"type": "object", "additionalProperties": {"type": "number"}},
        "g": {"anyOf": [{"type": "string", "format": "date"}, {"type": "integer"}]}}}}]));

    let page = rig.run(&["tools", "SERVER", "paint"]).await;

    for words in [
        "    a=array of string or null\n",
        "    b=array of (integer, at least 1) or null\n",
        "    c=array of (one of \"red\", \"blue\")\n",
        "    d=one of \"x\", \"y\"\n",
        "    e=one of \"red\", \"blue\"\n",
        "    f=object of number\n",
        "    g=string, as `date` or integer\n",
        "    form 1:\n        id=integer\n    form 2:\n        name=string\n",
    ] {
        assert!(page.out.contains(words), "{words}:\n{}", page.out);
    }
}

/// `resources` once ended as if the server had broken the protocol.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_has_no_such_things_is_told_so_whatever_it_answers() {
    let rig = Rig::new().await;
    rig.mcp.initialize_result(json!({"capabilities": {}}));
    for method in ["tools/list", "resources/list", "resources/templates/list", "prompts/list"] {
        rig.mcp.rule(When::method(method), Times::Always, |ask| async move {
            let error = ask.error(-32601, "Method not found");
            ask.json(error).await;
        });
    }

    for list in ["tools", "resources", "prompts"] {
        let ran = rig.run(&[list, "SERVER"]).await;
        let json = rig.run(&[list, "SERVER", "--json"]).await;

        assert_eq!((ran.code, json.code), (Some(0), Some(0)), "{ran:?} {json:?}");
        assert_eq!(ran.err, format!("the server has no {list}\n"));
        assert_eq!(json.json()[list], json!([]), "{json:?}");
    }
    let filled = rig.run(&["prompt", "SERVER", "greet"]).await;
    assert!(filled.err.contains("the server has no prompts"), "{filled:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_is_nearly_right_is_told() {
    let rig = Rig::new().await;

    let called = rig.run(&["call", "SERVER", "deplyo"]).await;
    let shown = rig.run(&["tools", "SERVER", "Echo"]).await;

    assert_eq!((called.code, shown.code), (Some(2), Some(2)));
    assert!(called.err.contains("hint: did you mean `deploy`?"), "{called:?}");
    let hint = format!("hint: did you mean `echo`? `ridethrough tools {}` lists them", rig.url);
    assert!(shown.err.contains(&hint), "{shown:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_says_nothing_of_itself_has_no_line_for_it() {
    let rig = Rig::new().await;
    let prompts = json!([{"name": "plan", "description": "", "arguments": [{"name": "day", "description": ""}]}]);
    rig.rule(When::method("prompts/list"), json!({"prompts": prompts}));
    let resources = json!([{"uri": "file:///a", "name": "a", "description": " "}]);
    rig.rule(When::method("resources/list"), json!({"resources": resources}));
    rig.rule(When::method("resources/templates/list"), json!({"resourceTemplates": []}));

    let prompts = rig.run(&["prompts", "SERVER"]).await;
    let resources = rig.run(&["resources", "SERVER"]).await;

    assert_eq!(
        (prompts.out.as_str(), prompts.code),
        ("plan\n  day=string\n", Some(0)),
        "{prompts:?}"
    );
    assert_eq!(resources.out, "file:///a  a\n", "{resources:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_on_this_machine_needs_no_scheme() {
    let rig = Rig::new().await;
    let bare = rig.url.replace("http://127.0.0.1", "localhost");

    let ran = rig.run(&["call", &bare, "echo", "msg=hi"]).await;
    let far = rig.run(&["tools", "example.com/mcp"]).await;

    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "hi\n"), "{ran:?}");
    assert_eq!(far.code, Some(2));
    assert!(far.err.contains("hint: write the whole URL, with `https://` before it"), "{far:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_are_listed_with_the_file_that_names_them_and_without_their_secrets() {
    let rig = Rig::new().await;
    rig.write(
        ".cursor/mcp.json",
        r#"{"mcpServers":{"it":{"url":"https://a.example/mcp?key=s3cret","headers":{"X":"s3cret"}},
            "local":{"command":"serve","args":["--token","s3cret"]}}}"#,
    );

    let words = rig.run(&["servers"]).await;
    let json = rig.run(&["servers", "--json"]).await;

    assert_eq!((words.code, json.code), (Some(0), Some(0)));
    assert!(words.out.contains("it\n    https://a.example/mcp\n    "), "{}", words.out);
    assert!(words.out.contains("local\n    the program `serve`\n"), "{}", words.out);
    assert!(words.out.contains(".cursor/mcp.json of cursor\n"), "{}", words.out);
    assert!(!words.out.contains("s3cret") && !json.out.contains("s3cret"));
    assert_eq!(json.json()[0]["name"], "it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_cannot_be_used_is_listed_by_its_name_with_the_reason() {
    let rig = Rig::new().await;
    rig.write(".cursor/mcp.json", r#"{"mcpServers":{"odd":{"url":7}}}"#);

    let words = rig.run(&["servers"]).await;

    assert!(words.out.starts_with("odd (cannot be used)\n    "), "{}", words.out);
    assert!(words.out.contains("its `url` is not a text\n"), "{}", words.out);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_are_completed_as_they_were_when_the_server_was_last_asked() {
    let rig = Rig::new().await;
    rig.mcp.tools(json!([{"name": "echo", "inputSchema": {"type": "object"}},
        {"name": "$(touch owned)", "inputSchema": {"type": "object"}}]));
    let config = format!(r#"{{"mcpServers":{{"it":{{"url":"{}"}}}}}}"#, rig.url);
    rig.write(".cursor/mcp.json", &config);

    let before = rig.run(&["complete", "tools", "it"]).await;
    let listed = rig.run(&["tools", "it"]).await;
    let after = rig.run(&["complete", "tools", "it"]).await;
    let servers = rig.run(&["complete", "servers"]).await;

    assert_eq!((before.out.as_str(), listed.code), ("", Some(0)), "{listed:?}");
    assert_eq!(after.out, "echo\n");
    assert_eq!(servers.out, "it\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bytes_go_to_stdout_alone_if_that_is_wanted() {
    let rig = Rig::new().await;
    rig.answer(
        "look",
        json!({"content": [{"type": "text", "text": "here it is"},
            {"type": "image", "data": "aGk=", "mimeType": "image/png"}]}),
    );

    let bytes = rig.run(&["call", "SERVER", "look", "--out", "-"]).await;
    let text = rig.run(&["call", "SERVER", "echo", "msg=hi", "--out", "-"]).await;

    assert_eq!((bytes.code, bytes.out.as_str()), (Some(0), "hi"), "{bytes:?}");
    assert!(
        bytes.err.contains("here it is\n[image, image/png, 2 bytes: written to stdout]"),
        "{bytes:?}"
    );
    assert_eq!(text.out, "hi\n");
    assert!(!rig.folder.join("-").exists());
}

/// `read ... > picture.png` once wrote the name of the picture into the file, and ended with 0.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bytes_that_are_all_there_is_go_to_a_file_as_they_are() {
    let rig = Rig::new().await;
    let image = json!({"type": "image", "data": "aGk=", "mimeType": "image/png"});
    let text = json!({"type": "text", "text": "here it is"});
    rig.answer("look", json!({"content": [image]}));
    rig.answer("put", json!({"content": [text, image]}));
    let nothing = json!({"type": "image", "data": "", "mimeType": "image/png"});
    rig.answer("echo", json!({"content": [nothing]}));
    let blob = json!({"contents": [{"uri": "a:b", "blob": "aGk="}]});
    rig.rule(When::method("resources/read"), blob);

    let called = rig.run(&["call", "SERVER", "look"]).await;
    let read = rig.run(&["read", "SERVER", "a:b"]).await;
    let mixed = rig.run(&["call", "SERVER", "put"]).await;
    let json = rig.run(&["call", "SERVER", "look", "--json"]).await;
    let empty = rig.run(&["call", "SERVER", "echo"]).await;

    assert_eq!((called.out.as_str(), read.out.as_str()), ("hi", "hi"), "{called:?} {read:?}");
    assert_eq!(empty.out, "", "{empty:?}");
    assert!(!called.err.contains("warning"), "{called:?}");
    let named = "here it is\n[image, image/png, 2 bytes: `--out DIR` saves it]\n";
    assert_eq!(mixed.out, named, "{mixed:?}");
    assert!(mixed.err.contains("`--out -` writes them there"), "{mixed:?}");
    assert_eq!(json.json()["content"][0]["data"], "aGk=");
    assert!(!json.err.contains("warning"), "{json:?}");
}

fn nested() -> serde_json::Value {
    json!([{"name": "book", "title": "Book a room", "description": "Books.",
        "annotations": {"destructiveHint": true, "openWorldHint": false},
        "outputSchema": {"type": "object", "properties": {"id": {"type": "integer"}}},
        "inputSchema": {"type": "object", "required": ["room", "when"], "properties": {
            "room": {"enum": ["blue", "red"], "default": "red"},
            "guests": {"type": "array", "items": {"$ref": "#/$defs/guest"}},
            "when": {"type": "object", "description": "who is asked", "required": ["day"],
                     "properties": {"day": {"type": "string", "format": "date"}}}},
            "$defs": {"guest": {"type": "object", "required": ["name"],
                                "properties": {"name": {"type": "string"}}}}}}])
}
