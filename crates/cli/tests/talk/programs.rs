//! Servers that are programs, typed after `--`.

use std::time::{Duration, Instant};

use crate::rig::Rig;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_behind_two_dashes_is_started_listed_and_called() {
    let rig = Rig::new().await;
    rig.write("server.sh", SERVER);

    let listed = rig.run(&["tools", "--", "/bin/sh", "server.sh"]).await;
    let called =
        rig.run(&["call", "greet", "who=you", "--json", "--", "/bin/sh", "server.sh"]).await;
    let pinged = rig.run(&["ping", "--", "/bin/sh", "server.sh"]).await;

    assert_eq!(
        (listed.code, called.code, pinged.code),
        (Some(0), Some(0), Some(0)),
        "{listed:?} {called:?}"
    );
    assert!(listed.out.starts_with("greet\n"), "{listed:?}");
    assert_eq!(called.json()["content"][0]["text"], "hello");
    assert!(pinged.out.contains("shell speaks 2025-11-25"), "{pinged:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_can_be_checked() {
    let rig = Rig::new().await;
    rig.write("server.sh", SERVER);

    let ran = rig.run(&["check", "--", "/bin/sh", "server.sh"]).await;
    let dead = rig.run(&["check", "--", "/bin/sh", "-c", "exit 3"]).await;

    assert_eq!(ran.code, Some(0), "{ran:?}");
    for words in
        ["the program `/bin/sh`", "shell speaks revision 2025-11-25", "lists 1 tool", "10 pings"]
    {
        assert!(ran.out.contains(words), "{words}: {}", ran.out);
    }
    assert_eq!(dead.code, Some(4), "{dead:?}");
    assert!(dead.out.contains("start it by hand"), "{dead:?}");
}

/// Many programs print a greeting there and speak MCP on a port, or not at all: a person who waits must learn
/// why. This was once reported only of a program that ended.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn text_on_the_stdout_of_a_program_that_runs_on_is_told_once() {
    let rig = Rig::new().await;
    rig.write("greets.sh", "printf 'Listening on \\033[1mport 3000\\n'\ncat > /dev/null\n");
    let told = "the program prints text on its stdout, which is for messages only: `Listening on  [1mport 3000`";

    let listed = rig.run(&["tools", "--timeout", "1", "--", "/bin/sh", "greets.sh"]).await;
    let waited = rig.run(&["tools", "--timeout", "3", "--", "/bin/sh", "greets.sh"]).await;
    let checked = rig.run(&["check", "--timeout", "1", "--", "/bin/sh", "greets.sh"]).await;

    assert_eq!([listed.code, waited.code, checked.code], [Some(7); 3], "{listed:?} {checked:?}");
    assert_eq!(listed.err.matches(&format!("warning: {told}")).count(), 1, "{listed:?}");
    assert_eq!(waited.err.matches(told).count(), 1, "{waited:?}");
    assert!(waited.err.find(told) < waited.err.find("waiting for"), "{waited:?}");
    let report = checked.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(report.contains("the program prints text on its stdout"), "{checked:?}");
    assert!(report.contains("let the program write such text to its stderr"), "{checked:?}");
}

/// A program that stays when its stdin ends was once left to run for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_program_outlives_its_command() {
    let rig = Rig::new().await;
    let stays = format!("echo $$ >> pids\n{SERVER}\ntrap '' TERM\nwhile :; do sleep 1; done\n");
    rig.write("stays.sh", &stays);

    let listed = rig.run(&["tools", "--", "/bin/sh", "stays.sh"]).await;
    let hurried = rig.run(&["tools", "--timeout", "1", "--", "/bin/sh", "stays.sh"]).await;

    assert_eq!((listed.code, hurried.code), (Some(0), Some(0)), "{listed:?} {hurried:?}");
    let pids = std::fs::read_to_string(rig.folder.join("pids")).unwrap();
    assert_eq!(pids.lines().count(), 2);
    for pid in pids.lines() {
        let program = std::path::Path::new("/proc").join(pid).join("exe");
        // On a busy machine a process that was killed takes a moment to be gone.
        let killed = Instant::now();
        while program.exists() {
            assert!(killed.elapsed() < Duration::from_secs(2), "{pid} still runs");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_url_and_a_program_are_one_server_too_many() {
    let rig = Rig::new().await;

    let ran = rig.run(&["tools", "SERVER", "--", "/bin/sh"]).await;

    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("there is a URL, and a program behind `--`"), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bridge_takes_a_name_from_a_file_of_the_user_and_from_no_project() {
    let rig = Rig::new().await;
    let config = format!(r#"{{"mcpServers":{{"it":{{"url":"{}"}}}}}}"#, rig.url);
    rig.write("home/.cursor/mcp.json", &config);
    rig.write("project/.cursor/mcp.json", &config);
    let home = rig.folder.join("home");
    let bridge = async |home: &std::path::Path| {
        let mut command = rig.command(&["bridge", "it"]);
        command.env("HOME", home).current_dir(rig.folder.join("project"));
        crate::rig::Ran::from(command.output().await.unwrap())
    };

    let named = bridge(&home).await;
    let planted = bridge(&rig.folder.join("empty")).await;

    assert_eq!(named.code, Some(0), "{named:?}");
    assert!(named.err.contains("`it` is http://127.0.0.1:"), "{named:?}");
    assert_eq!(planted.code, Some(2), "{planted:?}");
    assert!(
        planted.err.contains("`it` is no URL, and no server of that name is known"),
        "{planted:?}"
    );
}

/// `tools npx` had the tip; these were once told to write the whole URL.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_is_typed_without_dashes_or_in_quotes_is_told_how_it_is_typed() {
    let rig = Rig::new().await;
    rig.write("bin/python", "");
    rig.write("server.py", "");
    for (words, tip) in [
        (&["tools", "bin/python", "srv.py"][..], "`ridethrough tools -- bin/python ...`"),
        (&["tools", "./server.py"], "`ridethrough tools -- python3 ./server.py`"),
        (&["check", "server.py"], "`ridethrough check -- python3 server.py`"),
        (
            &["ping", "/bin/sh -c x"],
            "each of its words by itself: `ridethrough ping -- /bin/sh ...`",
        ),
        (
            &["tools", "--", "/bin/sh -c x"],
            "without quotes around them: `ridethrough tools -- /bin/sh ...`",
        ),
        (
            &["tools", "--", "SERVER"],
            "a URL stands without `--`: `ridethrough tools http://127.0.0.1:",
        ),
        (&["call", "echo", "--", "SERVER"], "/mcp TOOL key=value`"),
    ] {
        let ran = rig.run(words).await;

        assert_eq!(ran.code, Some(2), "{words:?} {ran:?}");
        assert!(ran.err.contains(tip), "{words:?} {ran:?}");
    }
}

/// `echo` was once looked for among the names of servers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_behind_the_tool_is_told_with_the_line_as_it_should_be() {
    let rig = Rig::new().await;

    let called = rig.run(&["call", "echo", "SERVER", "msg=a b", "--json"]).await;
    let read = rig.run(&["read", "lab://note", "SERVER"]).await;

    assert_eq!((called.code, read.code), (Some(2), Some(2)), "{called:?} {read:?}");
    let line = format!("write `ridethrough call {} echo 'msg=a b'`", rig.url);
    assert_eq!(called.json()["error"]["hint"], line, "{called:?}");
    assert!(read.err.contains(&format!("`ridethrough read {} lab://note`", rig.url)), "{read:?}");
}

/// A server that answers the requests of these tests, in their order.
const SERVER: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/p')
  [ -n "$id" ] || continue
  case $line in
    *'"initialize"'*) result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"shell","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"greet","inputSchema":{"type":"object","properties":{"who":{"type":"string"}}}}]}' ;;
    *'"tools/call"'*) result='{"content":[{"type":"text","text":"hello"}]}' ;;
    *) result='{}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;
