//! Scripts for clients in the lab, and the lines that clients report.
//!
//! A list is read as a script, anything else as the line of a step.

use std::time::Duration;

use ridethrough_lab::adapter::{Answer, Line, Step};
use serde_json::Value;

/// Checks that what was read can be written and read again, and that a valid step has a finite time.
pub fn adapter_script(input: &[u8]) {
    let first = input.iter().find(|byte| !byte.is_ascii_whitespace());
    if first == Some(&b'[') { script(input) } else { line(input) }
}

fn script(input: &[u8]) {
    let value = serde_json::from_slice::<Value>(input).ok();
    let steps = value.and_then(|it| serde_json::from_value::<Vec<Step>>(it).ok());
    let straight = serde_json::from_slice::<Vec<Step>>(input).ok();
    // A duplicate key is refused where it is seen; a `Value` has lost it.
    assert!(straight.is_none() || straight == steps, "read otherwise by way of a value");
    for step in steps.into_iter().flatten() {
        let written = serde_json::to_value(&step).expect("a step can be written");
        let again = serde_json::from_value::<Step>(written);
        assert_eq!(again.as_ref().ok(), Some(&step), "not what was written");
        let asks = step.asks();
        if step.nonsense().is_none() {
            assert!(asks <= 10_000, "{asks} calls at once");
            times(&step).into_iter().flatten().for_each(|seconds| {
                assert!(Duration::from_secs_f64(seconds) <= Duration::from_secs(86_400));
            });
        }
    }
}

fn times(step: &Step) -> [Option<f64>; 2] {
    match step {
        Step::Call { timeout_s, cancel_after_s, .. } => [*timeout_s, *cancel_after_s],
        Step::Request { timeout_s, .. } => [*timeout_s, None],
        Step::Sleep { s } => [Some(*s), None],
        Step::Close {} | Step::Initialize { .. } => [None, None],
    }
}

fn line(input: &[u8]) {
    let Ok(line) = serde_json::from_slice::<Line>(input) else { return };
    let written = serde_json::to_value(&line).expect("a line can be written");
    let again = serde_json::from_value::<Line>(written);
    assert_eq!(again.as_ref().ok(), Some(&line), "not what was written");
    let is_list = matches!(line.done.result, Some(Answer::Many(_)));
    let value: Option<Value> = serde_json::from_slice(input).ok();
    let result = value.as_ref().and_then(|it| it.get("result"));
    assert_eq!(is_list, result.is_some_and(Value::is_array), "many calls are a list");
}
