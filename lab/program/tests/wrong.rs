//! `ridethrough-lab wrong` as the lab runs it: the built binary, a socket, a script in a file.

#![cfg(test)]

use std::process::{Command, Output};

use ridethrough_lab::adapter::Line;
use ridethrough_lab::wrong::mistakes;
use ridethrough_lab::{Mcp, Protocol, Server};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_client_plays_a_script_over_a_socket() {
    let mcp = Mcp::new();
    let address = Server::new(Protocol::Http1, mcp.clone()).listen().await.unwrap();
    let script = std::env::temp_dir().join(format!("ridethrough-wrong-{}", std::process::id()));
    let steps =
        r#"[{"op":"initialize"},{"op":"call","tool":"echo","args":{"msg":"hi"}},{"op":"close"}]"#;
    std::fs::write(&script, steps).unwrap();

    let url = format!("http://{address}/mcp");
    let output = run(&["posts-again", &url, script.to_str().unwrap()]);

    std::fs::remove_file(&script).unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Line> = said.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    assert!(output.status.success() && lines.len() == 3, "{said}");
    assert!(lines.iter().all(|line| line.done.ok), "{said}");
    assert_eq!(mcp.executions("echo"), 1);
}

#[test]
fn every_mistake_is_listed() {
    let listed = String::from_utf8(run(&["--list"]).stdout).unwrap();

    let names: Vec<_> = listed.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names, mistakes().iter().map(|it| it.name).collect::<Vec<_>>());
}

#[test]
fn a_mistake_that_nobody_makes_is_wrong_usage() {
    let output = run(&["dances", "http://127.0.0.1:1/mcp", "no-script"]);

    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(told.contains("`dances`") && told.contains("--list"), "{told}");
}

fn run(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ridethrough-lab"));
    command.arg("wrong").args(args).output().unwrap()
}
