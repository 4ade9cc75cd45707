//! The answer to `initialize`: what all servers can do together, or what one says of itself.

use std::sync::Arc;

use ridethrough::server::Identity;
use ridethrough_core::answer::words::is_harmful;
use ridethrough_wire::message::{Json, splice};
use serde_json::{Map, Value, json};

use super::tasks::{EXTENSION, TaskSupport};

/// A server as the caller is told of it.
pub(crate) struct Description {
    pub(crate) name: Arc<str>,
    /// What it said of itself, in the form of an `initialize` result; `None` if it was never reached.
    pub(crate) said: Option<Json>,
    /// What its tasks can do for the caller.
    pub(crate) tasks: Option<TaskSupport>,
}

/// Returns the revision to speak: the one that is asked for, if it is known.
pub(crate) fn revision(params: Option<&Json>) -> &'static str {
    let asked: Option<String> = params.and_then(|it| it.member("protocolVersion")?.read());
    let known = REVISIONS.iter().find(|known| Some(**known) == asked.as_deref());
    known.copied().unwrap_or(REVISIONS[0])
}

/// Returns what a client says of itself, and what it can do for a server.
pub(crate) fn identity(params: Option<&Json>) -> Option<Identity> {
    let object =
        |name| params?.member(name).filter(splice::is_object).map(|it| splice::copied(&it));
    let capabilities = object("capabilities").unwrap_or_else(Json::empty_object);
    // A caller with a session cannot follow tasks of the stateless revision through the gateway.
    let extensions = capabilities.member("extensions").filter(|it| it.member(EXTENSION).is_some());
    let capabilities = extensions.map_or(capabilities.clone(), |it| {
        splice::with_member(&capabilities, "extensions", &it.without(&[EXTENSION]))
    });
    Some(Identity { info: object("clientInfo")?, capabilities })
}

/// Returns the greeting of all servers together. One that was never reached may have anything.
pub(crate) fn together(revision: &str, servers: &[Description]) -> Json {
    let mut greeting = json!({
        "protocolVersion": revision,
        "capabilities": union(servers),
        "serverInfo": { "name": "ridethrough", "version": env!("CARGO_PKG_VERSION") },
    });
    let told = servers.iter().filter_map(|Description { name, said, .. }| {
        let words: String = said.as_ref()?.member("instructions")?.read()?;
        let words = in_bounds(words.trim());
        (!words.is_empty()).then(|| format!("# {name}\n\n{words}"))
    });
    let told: Vec<_> = told.collect();
    if !told.is_empty() {
        greeting["instructions"] = told.join("\n\n").into();
    }
    Json::from(greeting)
}

/// Returns the instructions of a server as they stand beside those of others: cut, and without what steers terminals
/// or hides text.
fn in_bounds(words: &str) -> String {
    let is_fit = |letter: &char| matches!(letter, '\n' | '\t') || !is_harmful(*letter);
    let mut kept: String = words.chars().filter(is_fit).take(LONGEST).collect();
    if words.chars().nth(LONGEST).is_some() {
        kept.push('…');
    }
    kept
}

/// Returns a greeting that says at which pages a person must log in before more is listed.
pub(crate) fn with_logins<'a>(
    greeting: Json,
    logins: impl Iterator<Item = (&'a Arc<str>, Option<String>)>,
) -> Json {
    let said = greeting.member("instructions").and_then(|it| it.read::<String>());
    let mut told: Vec<String> = said.into_iter().collect();
    let count = told.len();
    told.extend(logins.map(|(server, url)| {
        let way = match url {
            Some(url) => format!("ask them to open {url} in a browser, within ten minutes"),
            None => "a call to it says where".to_owned(),
        };
        format!("# {server}\n\n`{server}` lists nothing before a person has logged in: {way}.")
    }));
    if told.len() == count {
        return greeting;
    }
    splice::with_member(&greeting, "instructions", &splice::text(&told.join("\n\n")))
}

/// Returns the greeting of one server: its own, in the caller's revision and with what the gateway adds.
pub(crate) fn alone(revision: &str, server: &Description) -> Json {
    let Some(said) = &server.said else {
        return together(revision, std::slice::from_ref(server));
    };
    let said = said.without(&["_meta"]);
    let said = splice::with_member(&said, "protocolVersion", &splice::text(revision));
    let can = Json::from(Value::Object(union(std::slice::from_ref(server))));
    splice::with_member(&said, "capabilities", &can)
}

fn union(servers: &[Description]) -> Map<String, Value> {
    let can = |what: &str| servers.iter().any(|it| may(it.said.as_ref(), &[what]));
    let mut all = Map::new();
    for list in ["prompts", "resources", "tools"] {
        if can(list) {
            // The gateway tells of changes, whether or not the server does.
            all.insert(list.to_owned(), json!({ "listChanged": true }));
        }
    }
    let subscribes = |it: &Description| may(it.said.as_ref(), &["resources", "subscribe"]);
    if servers.iter().any(subscribes) {
        all["resources"]["subscribe"] = true.into();
    }
    for plain in ["completions", "logging"] {
        if can(plain) {
            all.insert(plain.to_owned(), json!({}));
        }
    }
    // A caller that is told of tasks may wait for one, so only what a server has said counts.
    let mut tasks = servers.iter().filter_map(|it| it.tasks);
    let first = tasks.next();
    let can_cancel = |it| it == TaskSupport::Requested { can_cancel: true };
    match first {
        None => {}
        Some(TaskSupport::Extension) => {
            all.insert("extensions".to_owned(), json!({ EXTENSION: {} }));
        }
        Some(TaskSupport::Requested { .. }) => {
            let mut said = json!({ "list": {}, "requests": { "tools": { "call": {} } } });
            if first.into_iter().chain(tasks).any(can_cancel) {
                said["cancel"] = json!({});
            }
            all.insert("tasks".to_owned(), said);
        }
    }
    all
}

/// Whether a server can do this, or may for all that is known.
fn may(said: Option<&Json>, path: &[&str]) -> bool {
    let Some(said) = said else { return true };
    let found =
        path.iter().try_fold(said.member("capabilities"), |it, name| it.map(|it| it.member(name)));
    found.flatten().is_some_and(|it| it.as_str() != "false")
}

/// The most characters of one server's instructions in the greeting of all.
const LONGEST: usize = 16_384;
/// The revisions that a caller may ask for by `initialize`, newest first.
const REVISIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_server_can_do_all_can_do_together() {
        let servers = [
            said("a", r#"{"tools":{},"logging":{}}"#),
            said("b", r#"{"resources":{"subscribe":true}}"#),
        ];

        let greeting: Value = together("2025-06-18", &servers).read().unwrap();

        assert_eq!(
            greeting["capabilities"],
            json!({
                "tools": {"listChanged": true},
                "resources": {"listChanged": true, "subscribe": true},
                "logging": {},
            })
        );
        assert_eq!(greeting["protocolVersion"], "2025-06-18");
        assert_eq!(greeting["instructions"], "# a\n\nbe kind\n\n# b\n\nbe kind");
    }

    #[test]
    fn a_server_that_was_never_reached_may_have_anything() {
        let greeting: Value =
            together("2025-06-18", &[unreached("a"), said("b", "{}")]).read().unwrap();

        let can: Vec<_> = greeting["capabilities"].as_object().unwrap().keys().collect();
        assert_eq!(can, ["completions", "logging", "prompts", "resources", "tools"]);
        assert_eq!(greeting["capabilities"]["resources"]["subscribe"], true);
    }

    #[test]
    fn the_words_of_one_server_neither_drown_nor_disguise_those_of_others() {
        assert_eq!(in_bounds("be\u{1b}[2J kind\u{202e}\n\tto all"), "be[2J kind\n\tto all");
        let long = in_bounds(&"é".repeat(9_000_000));
        assert_eq!(long.chars().count(), LONGEST + 1);
        assert!(long.ends_with('…'));
    }

    #[test]
    fn a_server_alone_is_greeted_by_itself() {
        let server = said("a", r#"{"tools":{},"tasks":{}}"#);

        let greeting: Value = alone("2025-06-18", &server).read().unwrap();

        assert_eq!(greeting["serverInfo"]["name"], "a");
        assert_eq!(greeting["protocolVersion"], "2025-06-18");
        assert_eq!(greeting["capabilities"], json!({"tools": {"listChanged": true}}));
        assert_eq!(greeting["instructions"], "be kind");
    }

    #[test]
    fn tasks_are_announced_where_a_server_has_them_and_with_what_one_of_them_can() {
        let (plain, asked) = (said("a", "{}"), TaskSupport::Requested { can_cancel: false });
        let with = |tasks| Description { tasks: Some(tasks), ..unreached("b") };
        let can = |servers: &[Description]| -> Value {
            together("2025-11-25", servers).member("capabilities").unwrap().read().unwrap()
        };

        let none = can(&[plain, unreached("b")]);
        assert!(none.get("tasks").is_none() && none.get("extensions").is_none());
        let calls = json!({"tools": {"call": {}}});
        assert_eq!(can(&[with(asked)])["tasks"], json!({"list": {}, "requests": calls}));
        let cancelled = TaskSupport::Requested { can_cancel: true };
        let both = can(&[with(asked), with(cancelled)]);
        assert_eq!(both["tasks"], json!({"list": {}, "cancel": {}, "requests": calls}));
        let modern = can(&[with(TaskSupport::Extension)]);
        assert_eq!(modern["extensions"], json!({"io.modelcontextprotocol/tasks": {}}));
    }

    #[test]
    fn a_caller_with_a_session_offers_no_server_to_follow_its_tasks() {
        let said = r#"{"clientInfo":{"name":"c"},
            "capabilities":{"roots":{},"extensions":{"io.modelcontextprotocol/tasks":{},"x":{}}}}"#;

        let identity = identity(Some(&Json::new(said).unwrap())).unwrap();

        let can: Value = identity.capabilities.read().unwrap();
        assert_eq!(can, json!({"roots": {}, "extensions": {"x": {}}}));
    }

    fn said(name: &str, capabilities: &str) -> Description {
        let text = format!(
            r#"{{"protocolVersion":"2025-11-25","capabilities":{capabilities},
                "serverInfo":{{"name":"{name}","version":"1"}},"instructions":"be kind"}}"#
        );
        Description { said: Some(Json::new(text).unwrap()), ..unreached(name) }
    }

    fn unreached(name: &str) -> Description {
        Description { name: name.into(), said: None, tasks: None }
    }
}
