//! The progress of a call, as a line for a terminal.

use ridethrough::model::Progress;

use crate::safe;

/// Returns `[#####.....]  50 %  5 of 10: copying`, as far as the server gives these values.
pub(super) fn line(step: &Progress) -> String {
    let message = step.message.as_deref().map(safe::line);
    let message = message.map(|it| format!(": {it}")).unwrap_or_default();
    let Progress { progress, total, .. } = step;
    match total {
        Some(total) if *total > 0.0 && progress.is_finite() => {
            let part = (progress / total).clamp(0.0, 1.0);
            let filled = (part * CELLS as f64) as usize;
            let bar = format!("{}{}", "#".repeat(filled), ".".repeat(CELLS - filled));
            format!("[{bar}] {:3.0} %  {progress} of {total}{message}", part * 100.0)
        }
        _ => format!("{progress}{message}"),
    }
}

const CELLS: usize = 20;

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_bar_shows_the_part_that_is_done() {
        let half = told(json!({"progress": 5, "total": 10, "message": "copying"}));

        assert_eq!(half, "[##########..........]  50 %  5 of 10: copying");
        assert_eq!(told(json!({"progress": 7})), "7");
    }

    #[test]
    fn absurd_numbers_and_harmful_words_do_no_harm() {
        assert!(told(json!({"progress": 1e300, "total": 1})).contains("100 %"));
        assert!(told(json!({"progress": -5, "total": 1})).contains("  0 %"));
        assert_eq!(told(json!({"progress": 1, "total": 0})), "1");
        assert!(!told(json!({"progress": 1, "message": "\u{1b}[2J\n"})).contains(['\u{1b}', '\n']));
    }

    fn told(step: Value) -> String {
        line(&serde_json::from_value(step).unwrap())
    }
}
