//! A second implementation of the standard, written for readability, to compare the decoder with.

use std::time::Duration;

use super::seen::{Fields, Seen};

/// Follows the steps of the standard on the whole stream as text, without regard for speed.
pub(super) fn by_the_standard(stream: &[u8]) -> Vec<Seen> {
    let text = String::from_utf8_lossy(stream);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut lines: Vec<&str> = text.split('\n').collect();
    lines.pop();

    let mut seen = Vec::new();
    let mut block = None::<Fields>;
    for line in lines {
        if line.is_empty() {
            seen.extend(block.take().map(Seen::Event));
            continue;
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "" => seen.push(Seen::Comment),
            "event" => {
                block.get_or_insert_default().kind =
                    Some(value.to_owned()).filter(|kind| !matches!(kind.as_str(), "" | "message"));
            }
            "data" => block.get_or_insert_default().data += &format!("{value}\n"),
            "id" if !value.contains('\0') => block.get_or_insert_default().id = Some(value.into()),
            "retry" if !value.is_empty() && value.chars().all(|digit| digit.is_ascii_digit()) => {
                let millis = value.parse().unwrap_or(u64::MAX);
                block.get_or_insert_default().retry = Some(Duration::from_millis(millis));
            }
            _ => {}
        }
    }
    for item in &mut seen {
        if let Seen::Event(fields) = item {
            fields.data.pop();
        }
    }
    seen
}
