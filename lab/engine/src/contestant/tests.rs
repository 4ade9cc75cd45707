//! Programs that misbehave, as real processes in real time.

use super::*;

#[tokio::test]
async fn a_program_that_does_not_exist_is_told_by_its_name() {
    let performance = perform(Program::new(["no-such-client"]), LIMIT).await;

    let why = "there is no program `no-such-client`".to_owned();
    assert_eq!(performance.end, End::NotStarted(why));
}

#[tokio::test]
async fn lines_and_garbage_are_told_apart() {
    let script = r#"echo hello; echo '{"step":0,"ok":true,"elapsed_ms":1}'; echo oops >&2"#;

    let performance = perform(shell(script), LIMIT).await;

    assert_eq!(performance.end, End::Finished);
    assert_eq!(performance.garbage, ["hello"]);
    assert_eq!(performance.lines.len(), 1);
    assert_eq!(performance.stderr, "oops");
    let said = performance.said.unwrap();
    assert!(said.contains("oops") && said.contains("hello"));
}

#[tokio::test]
async fn the_url_and_the_script_are_the_last_arguments() {
    let performance = perform(shell(r#"echo "$1" >&2; cat "$2" >&2"#), LIMIT).await;

    assert!(performance.stderr.starts_with("http://127.0.0.1:1/mcp"), "{}", performance.stderr);
    assert!(performance.stderr.contains(r#""op": "sleep""#), "{}", performance.stderr);
}

#[tokio::test]
async fn a_program_finds_its_browser_and_what_is_opened_arrives_as_it_is() {
    let browser = ["printf".as_ref(), "it's %s".as_ref()];
    let program = shell(r#""$BROWSER" 'http://a/?b=$c&d="e f"' >&2"#);

    let performance = perform(program.with_browser(&browser).unwrap(), LIMIT).await;

    assert_eq!(performance.stderr, r#"it's http://a/?b=$c&d="e f""#);
}

#[tokio::test]
async fn a_failed_program_is_told_by_its_status() {
    let performance = perform(shell("exit 3"), LIMIT).await;

    assert_eq!(performance.end, End::Failed("exit status: 3".to_owned()));
}

#[tokio::test]
async fn a_program_that_hangs_is_stopped() {
    let limit = Duration::from_millis(100);

    let performance = perform(shell("sleep 60"), limit).await;

    assert_eq!(performance.end, End::Stopped(limit));
}

#[tokio::test]
async fn the_time_that_a_program_takes_to_start_is_its_lead() {
    let slow = shell(r#"sleep 0.2; echo '{"step":0,"ok":true,"elapsed_ms":1}'"#);

    let lead = slow.timed(2, Duration::from_secs(60)).await.unwrap().lead();

    assert!(lead >= Duration::from_millis(200), "{lead:?}");
}

#[tokio::test]
async fn the_lead_of_a_bridge_is_the_time_until_it_has_connected() {
    // No server listens at port 1; a program that need not connect is given it.
    let bridge = shell(
        r#"case "$1" in
             *:1/mcp) echo '{"step":0,"ok":false,"error":"nobody is there","elapsed_ms":1}' ;;
             *) sleep 0.2; echo '{"step":0,"ok":true,"elapsed_ms":1}' ;;
           esac"#,
    );

    let lead = bridge.clone().timed_as_bridge(2, Duration::from_secs(60)).await.unwrap().lead();
    let why = bridge.timed(1, Duration::from_secs(60)).await.unwrap_err();

    assert!(lead >= Duration::from_millis(200), "{lead:?}");
    assert!(why.contains("nobody is there"), "{why}");
}

#[tokio::test]
async fn what_was_not_read_whole_is_not_taken_for_silence() {
    let quiet = perform(shell("echo s3cret >&2"), Duration::from_secs(30)).await;
    let flood = shell("echo s3cret >&2; head -c 20000000 /dev/zero >&2");
    let flood = perform(flood, Duration::from_secs(30)).await;

    assert!(quiet.said.unwrap().contains("s3cret"));
    assert_eq!(flood.said, None);
}

#[tokio::test]
async fn a_program_that_says_nothing_is_broken() {
    let why = shell("echo oops >&2; exit 3").timed(1, Duration::from_secs(60)).await.unwrap_err();

    assert!(why.contains("exit status: 3") && why.contains("oops"), "{why}");
}

#[tokio::test]
async fn what_a_program_leaves_behind_is_ended_even_if_it_left_the_group() {
    let folder = std::env::temp_dir().join(format!("ridethrough-stray-{}", std::process::id()));
    let script =
        format!("setsid sh -c 'echo $$ > {0}; exec sleep 61' & sleep 0.2", folder.display());

    let performance = perform(shell(&script), LIMIT).await;

    let stray = std::fs::read_to_string(&folder).unwrap();
    std::fs::remove_file(&folder).unwrap();
    let command = std::fs::read_to_string(format!("/proc/{}/cmdline", stray.trim()));
    assert_eq!(performance.end, End::Finished);
    assert!(!command.unwrap_or_default().contains("sleep"), "{stray} is still there");
}

async fn perform(program: Program, limit: Duration) -> Performance {
    program.perform("http://127.0.0.1:1/mcp", &[Step::Sleep { s: 0.1 }], limit).await
}

/// Returns a program that is a shell script; its arguments are `$1` and `$2`.
fn shell(script: &str) -> Program {
    Program::new(["sh", "-c", script, "sh"])
}

const LIMIT: Duration = Duration::from_secs(20);
