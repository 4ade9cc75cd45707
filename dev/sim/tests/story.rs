//! The binary as a person runs it.

use std::process::Command;

#[test]
fn the_story_needs_no_server_and_ends_with_every_promise_kept() {
    let output = Command::new(env!("CARGO_BIN_EXE_ridethrough-sim")).arg("story").output().unwrap();

    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(said.trim_end().ends_with("violations 0"), "{said}");
    assert!(output.stderr.is_empty());
}

#[test]
fn an_unknown_command_is_wrong_usage() {
    let output = Command::new(env!("CARGO_BIN_EXE_ridethrough-sim")).arg("dance").output().unwrap();

    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
}
