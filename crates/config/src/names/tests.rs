use std::env;
use std::fs;
use std::path::PathBuf;

use secrecy::ExposeSecret;

use super::*;

#[test]
fn a_url_is_itself() {
    let resolved = resolve("https://a.example/mcp", Servers::here, || None).unwrap();

    assert_eq!(url(&resolved), "https://a.example/mcp");
    assert!(resolved.named.is_none());
}

#[test]
fn a_name_is_found_behind_every_kind_of_entry() {
    let home = Home::new("kinds");
    home.write(
        ".cursor/mcp.json",
        r#"{"mcpServers":{
        "native":{"url":"https://a.example/mcp","headers":{"X-Key":"k"}},
        "wrapped":{"command":"npx","args":["mcp-remote","https://b.example/","--header","A:b"]},
        "ours":{"command":"ridethrough","args":["bridge","https://c.example/"]},
        "local":{"command":"serve","args":["--all"]}}}"#,
    );
    home.write(".codex/config.toml", "[mcp_servers.code]\nurl = 'https://d.example/'\n");
    let servers = home.servers();
    let find = |word: &str| resolve_among(word, &servers, || None).unwrap();

    assert_eq!(url(&find("native")), "https://a.example/mcp");
    assert_eq!(url(&find("wrapped")), "https://b.example/");
    assert_eq!(url(&find("ours")), "https://c.example/");
    assert_eq!(url(&find("code")), "https://d.example/");
    let Reached::Local(program) = find("local").reached else { panic!("a program") };
    assert_eq!(program.command, "serve");
    let from = find("native").named.unwrap();
    assert_eq!(from, ("native".to_owned(), home.0.join(".cursor/mcp.json")));
}

#[test]
fn a_name_that_means_several_servers_is_refused_with_the_choices() {
    let home = Home::new("several");
    home.write(".cursor/mcp.json", r#"{"mcpServers":{"it":{"url":"https://a.example/?s3cret"}}}"#);
    home.write(".codex/config.toml", "[mcp_servers.it]\nurl = 'https://b.example/'\n");

    let error = resolve_among("it", &home.servers(), || None).unwrap_err().to_string();

    assert!(error.contains("`cursor:it` in ") && error.contains("`codex:it` in "), "{error}");
    assert!(!error.contains("s3cret"), "{error}");
    let chosen = resolve_among("codex:it", &home.servers(), || None).unwrap();
    assert_eq!(url(&chosen), "https://b.example/");
}

#[test]
fn the_same_server_in_two_files_is_one() {
    let home = Home::new("same");
    home.write(".cursor/mcp.json", r#"{"mcpServers":{"it":{"url":"https://a.example/"}}}"#);
    home.write(
        ".config/Claude/claude_desktop_config.json",
        r#"{"mcpServers":{"it":{"command":"npx","args":["mcp-remote","https://a.example/"]}}}"#,
    );

    assert_eq!(url(&resolve_among("it", &home.servers(), || None).unwrap()), "https://a.example/");
}

#[test]
fn a_projects_file_that_is_not_approved_hides_no_server_of_the_users() {
    let home = Home::new("scopes");
    let server = |host: &str| format!(r#"{{"mcpServers":{{"it":{{"url":"https://{host}/"}}}}}}"#);
    home.write(".cursor/mcp.json", &server("user.example"));
    home.write("work/.cursor/mcp.json", &server("project.example"));

    let error = resolve_among("it", &home.servers(), || None).unwrap_err().to_string();

    assert!(error.contains("there are several servers `it`"), "{error}");
}

#[test]
fn what_claude_code_keeps_for_another_project_is_not_seen() {
    let home = Home::new("projects");
    let file = format!(
        r#"{{"projects":{{"{}":{{"mcpServers":{{"here":{{"url":"https://a.example/"}}}}}},
            "/elsewhere":{{"mcpServers":{{"there":{{"url":"https://b.example/"}}}}}}}}}}"#,
        home.0.join("work").display()
    );
    home.write(".claude.json", &file);

    assert_eq!(
        url(&resolve_among("here", &home.servers(), || None).unwrap()),
        "https://a.example/"
    );
    assert!(resolve_among("there", &home.servers(), || None).is_err());
}

#[test]
fn an_unknown_name_is_told_with_those_that_are_known_and_files_that_are_broken() {
    let home = Home::new("unknown");
    home.write(".cursor/mcp.json", r#"{"mcpServers":{"a\u001b[2J":{"url":"https://a.example/"}}}"#);
    home.write(".codex/config.toml", "[mcp_servers\n");

    let error = resolve_among("it", &home.servers(), || None).unwrap_err().to_string();

    assert!(error.contains("`it` is no URL, and no server of that name is known"), "{error}");
    assert!(error.contains(r"these are known: `a\u{1b}[2J`"), "{error}");
    assert!(error.contains("config.toml (it is broken at line 1, column "), "{error}");
}

#[test]
fn a_variable_that_is_not_set_is_named() {
    let home = Home::new("unset");
    home.write(".claude.json", r#"{"mcpServers":{"it":{"url":"${RIDETHROUGH_NOT_SET}"}}}"#);

    let error = resolve_among("it", &home.servers(), || None).unwrap_err().to_string();

    assert!(error.contains("`url` needs the variable `RIDETHROUGH_NOT_SET`"), "{error}");
}

fn url(resolved: &Resolved) -> &str {
    match &resolved.reached {
        Reached::Remote(address) => address.url.expose_secret(),
        Reached::Local(program) => panic!("{program:?}"),
    }
}

struct Home(PathBuf);

impl Home {
    fn new(name: &str) -> Self {
        let folder = format!("ridethrough-names-{name}-{}", std::process::id());
        let home = env::temp_dir().join(folder);
        fs::create_dir_all(home.join("work")).unwrap();
        Self(home)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn servers(&self) -> Servers {
        Servers::at(&self.0, &self.0.join("work"))
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
