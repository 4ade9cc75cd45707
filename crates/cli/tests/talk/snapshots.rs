//! Texts that are compared byte for byte with files, and written anew on request.

use std::fs;
use std::path::PathBuf;

/// Compares a text with `tests/snapshots/NAME.txt`; with `SNAPSHOTS=write` it writes the file.
pub(crate) fn assert_snapshot(name: &str, text: &str) {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/snapshots/{name}.txt"));
    if std::env::var_os("SNAPSHOTS").is_some_and(|it| it == "write") {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        return fs::write(path, text).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    let differs = kept.lines().zip(text.lines()).position(|(kept, text)| kept != text);
    let line = differs.unwrap_or_else(|| kept.lines().count().min(text.lines().count())) + 1;
    assert!(
        kept == text,
        "`{name}` differs from line {line} on; SNAPSHOTS=write takes it over:\n{text}"
    );
}

/// Returns the text without what differs from run to run: the server's address, and times.
pub(crate) fn settled(text: &str, url: &str) -> String {
    let address = url.trim_start_matches("http://").trim_end_matches("/mcp");
    let text = text.replace(url, "SERVER").replace(address, "ADDRESS");
    without_times(&text)
}

/// Returns the text with `N` for each number before ` s` or ` ms`, in a field whose name ends in `Ms`, or of
/// an error of the operating system.
fn without_times(text: &str) -> String {
    let mut settled = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(|it: char| it.is_ascii_digit()) {
        let (before, number) = rest.split_at(start);
        let end = number.find(|it: char| !it.is_ascii_digit() && it != '.').unwrap_or(number.len());
        let (number, after) = number.split_at(end);
        settled.push_str(before);
        let unit = after.strip_prefix(" ms").or_else(|| after.strip_prefix(" s"));
        let is_time = unit.is_some_and(|rest| !rest.starts_with(char::is_alphabetic));
        let is_field = ["Ms\":", "Ms\":["].iter().any(|it| before.ends_with(it));
        let is_os = before.ends_with("os error ");
        settled.push_str(if is_time || is_field || is_os { "N" } else { number });
        rest = after;
    }
    settled + rest
}

#[test]
fn times_are_settled_and_other_numbers_stay() {
    let text =
        r#"1 server, 1 attempt in 0.2 s, 12.5 ms, g1 {"elapsedMs":12,"pingMs":[0.5],"exitCode":4}"#;

    assert_eq!(
        without_times(text),
        r#"1 server, 1 attempt in N s, N ms, g1 {"elapsedMs":N,"pingMs":[N],"exitCode":4}"#
    );
}
