//! What a host heard, in a form in which doors can be compared.
//!
//! What must differ is taken out: ids of questions and tasks, sealed states, the name that a server gives itself,
//! words for people. Everything else stays.

use serde_json::{Map, Value, json};

use crate::backend::NAME;

/// One message, or a remark of the player.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Heard {
    text: String,
    is_message: bool,
}

impl Heard {
    pub(crate) const fn message(text: String) -> Self {
        Self { text, is_message: true }
    }

    pub(crate) fn noted(remark: &str) -> Self {
        Self { text: remark.to_owned(), is_message: false }
    }

    /// Returns the bytes as they came.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    fn read(&self) -> Value {
        let read = self.is_message.then(|| serde_json::from_str(&self.text).ok());
        read.flatten().unwrap_or_default()
    }

    /// Whether this answers a request, or refuses a line.
    pub(crate) fn is_answer(&self) -> bool {
        self.is_message && self.read()["method"].is_null()
    }

    /// Whether this is a request or a notification of this method.
    pub(crate) fn is_of(&self, method: &str) -> bool {
        self.read()["method"] == method
    }

    /// Returns the id of a question, as it was written.
    pub(crate) fn question(&self) -> Option<Value> {
        let read = self.read();
        (read["method"].is_string() && !read["id"].is_null()).then(|| read["id"].clone())
    }

    pub(crate) fn result(&self) -> Option<Value> {
        self.read().get("result").cloned()
    }
}

/// Returns everything that was heard as lines that are equal where doors say the same.
///
/// News and the log come behind the rest: where they stand among answers means nothing.
pub(crate) fn lines(heard: &[Heard]) -> Vec<String> {
    let is_news = |heard: &&Heard| {
        let read = heard.read();
        let method = read["method"].as_str().unwrap_or_default();
        let is_news = ["notifications/message", "notifications/resources/updated"];
        method.ends_with("list_changed") || is_news.contains(&method)
    };
    let (news, rest): (Vec<_>, Vec<_>) = heard.iter().partition(is_news);
    let mut news: Vec<_> = news.into_iter().map(line).collect();
    news.sort();
    // A list that is said to have changed twice is read once.
    news.dedup_by(|one, other| one == other && one.contains("list_changed"));
    let rest: Vec<_> = rest.into_iter().map(line).collect();
    if rest.len() > MANY { counted(&rest) } else { [rest, news].concat() }
}

/// Returns one line.
fn line(heard: &Heard) -> String {
    let Value::Object(message) = heard.read() else { return shortened(heard.text.clone()) };
    let id = message.get("id").map_or_else(|| "no id".to_owned(), Value::to_string);
    let id = shortened(id);
    if let Some(method) = message.get("method").and_then(Value::as_str) {
        let params = message.get("params").cloned().unwrap_or_else(|| json!({}));
        let kind = if message.contains_key("id") { "asks " } else { "" };
        return shortened(format!("{kind}{method} {}", plain(params)));
    }
    if let Some(error) = message.get("error") {
        return format!("{id}: {}", error_line(error));
    }
    match message.get("result") {
        Some(result) => shortened(format!("{id}: {}", plain(result.clone()))),
        None => shortened(format!("no message: {}", Value::Object(message))),
    }
}

/// Returns an error: its code, and what programs read in its data. Its words are for people.
fn error_line(error: &Value) -> String {
    let mut line = format!("error {}", error["code"]);
    if let Some(data) = error.get("data") {
        line.push_str(&format!(" {}", plain(data.clone())));
    }
    shortened(line)
}

/// Returns a value without what must differ between doors.
fn plain(value: Value) -> Value {
    match value {
        Value::Array(elements) => elements.into_iter().map(plain).collect(),
        Value::Object(members) => {
            let is_report = members.contains_key("mayHaveRun");
            let is_kept = |key: &str| !is_report || !MEASURED.contains(&key);
            let mut members: Vec<_> = members.into_iter().filter(|it| is_kept(&it.0)).collect();
            // The order of members is compared where bytes are.
            members.sort_by(|one, other| one.0.cmp(&other.0));
            let plain = members.into_iter().map(|(key, value)| {
                let value = match (&*key, value) {
                    ("requestState", Value::String(_)) => "(state)".into(),
                    ("taskId", Value::String(_)) => "(task)".into(),
                    ("inputRequests", Value::Object(asked)) => numbered(asked),
                    ("instructions", Value::String(words)) => instructions(&words).into(),
                    ("io.modelcontextprotocol/serverInfo" | "serverInfo", info) => named(&info),
                    (_, value) => plain(value),
                };
                (key, value)
            });
            plain.collect::<Map<_, _>>().into()
        }
        value => value,
    }
}

/// Returns questions under keys that count.
fn numbered(asked: Map<String, Value>) -> Value {
    let asked = asked.into_iter().enumerate();
    asked.map(|(number, (_, question))| (format!("question {number}"), plain(question))).collect()
}

/// Returns a server's name: a gateway has its own.
fn named(info: &Value) -> Value {
    let ours = info["name"] == NAME || info["name"] == "ridethrough";
    if ours { "(server)".into() } else { info.clone() }
}

/// Returns the instructions without the heading that a gateway puts over those of each server.
fn instructions(words: &str) -> &str {
    words.strip_prefix("# ").and_then(|it| it.strip_prefix(NAME)).map_or(words, str::trim_start)
}

/// Returns how often each line came, without ids.
fn counted(lines: &[String]) -> Vec<String> {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for line in lines {
        let shape = line.split_once(": ").map_or(&**line, |(_, shape)| shape);
        match counts.iter_mut().find(|(known, _)| known == shape) {
            Some((_, count)) => *count += 1,
            None => counts.push((shape.to_owned(), 1)),
        }
    }
    counts.into_iter().map(|(shape, count)| format!("{count} times {shape}")).collect()
}

/// Returns a line that a table can show. Two long lines that differ are told apart by their sums.
fn shortened(line: String) -> String {
    if line.chars().count() <= LONGEST {
        return line;
    }
    let sum = line.bytes().fold(FNV_BASIS, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(FNV));
    let head: String = line.chars().take(SHOWN).collect();
    format!("{head}… ({} bytes, {:08x})", line.len(), sum as u32)
}

const FNV: u64 = 0x0100_0000_01b3;
const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const LONGEST: usize = 400;
const MANY: usize = 20;
/// What a report of a call says that is never the same twice.
const MEASURED: [&str; 4] = ["attempts", "elapsedMs", "handshakes", "retryAfterMs"];
const SHOWN: usize = 120;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_must_differ_is_taken_out_and_everything_else_stays() {
        for (one, other, is_same) in [
            (
                r#"{"id":1,"result":{"requestState":"a"}}"#,
                r#"{"id":1,"result":{"requestState":"b"}}"#,
                true,
            ),
            (r#"{"id":1,"result":{"requestState":"a"}}"#, r#"{"id":1,"result":{}}"#, false),
            (r#"{"id":1,"result":{"a":1,"b":2}}"#, r#"{"result":{"b":2,"a":1},"id":1}"#, true),
            (r#"{"id":1,"result":{}}"#, r#"{"id":2,"result":{}}"#, false),
            (r#"{"id":1,"result":{}}"#, r#"{"id":"1","result":{}}"#, false),
            (r#"{"id":null,"error":{"code":1}}"#, r#"{"error":{"code":1}}"#, false),
            (
                r#"{"id":1,"error":{"code":1,"message":"a"}}"#,
                r#"{"id":1,"error":{"code":1,"message":"b"}}"#,
                true,
            ),
            (r#"{"id":1,"error":{"code":1}}"#, r#"{"id":1,"error":{"code":2}}"#, false),
            (
                r#"{"id":1,"error":{"code":1,"data":{"mayHaveRun":true,"elapsedMs":1}}}"#,
                r#"{"id":1,"error":{"code":1,"data":{"mayHaveRun":true,"elapsedMs":2}}}"#,
                true,
            ),
            (
                r#"{"id":1,"error":{"code":1,"data":{"mayHaveRun":true}}}"#,
                r#"{"id":1,"error":{"code":1,"data":{"mayHaveRun":false}}}"#,
                false,
            ),
            (
                r#"{"id":1,"result":{"serverInfo":{"name":"ridethrough","version":"0.1.0"}}}"#,
                r#"{"id":1,"result":{"serverInfo":{"name":"backend","version":"1"}}}"#,
                true,
            ),
            (
                r##"{"id":1,"result":{"instructions":"# backend\n\nbe kind"}}"##,
                r#"{"id":1,"result":{"instructions":"be kind"}}"#,
                true,
            ),
            (
                r#"{"id":4,"method":"roots/list","params":{}}"#,
                r#"{"id":5,"method":"roots/list"}"#,
                true,
            ),
            (
                r#"{"method":"notifications/progress","params":{"progressToken":1}}"#,
                r#"{"method":"notifications/progress","params":{"progressToken":"1"}}"#,
                false,
            ),
            (
                r#"{"id":1,"result":{"inputRequests":{"7":{"method":"m"}}}}"#,
                r#"{"id":1,"result":{"inputRequests":{"why":{"method":"m"}}}}"#,
                true,
            ),
        ] {
            assert_eq!(of(&[one]) == of(&[other]), is_same, "{one} {other}");
        }
    }

    #[test]
    fn progress_stays_before_its_answer_and_news_may_stand_anywhere() {
        let progress = r#"{"method":"notifications/progress","params":{}}"#;
        let news = r#"{"method":"notifications/tools/list_changed"}"#;
        let answer = r#"{"id":1,"result":{}}"#;

        assert_ne!(of(&[progress, answer]), of(&[answer, progress]));
        assert_eq!(of(&[news, answer]), of(&[answer, news]));
        assert_ne!(of(&[news, answer]), of(&[answer]));
    }

    #[test]
    fn long_lines_are_short_and_still_differ() {
        let long =
            |end: &str| format!(r#"{{"id":1,"result":{{"a":"{}{end}"}}}}"#, "x".repeat(1000));

        assert_ne!(of(&[&long("a")]), of(&[&long("b")]));
        assert!(of(&[&long("a")])[0].len() < 200);
    }

    #[test]
    fn many_lines_are_counted() {
        let answers: Vec<_> =
            (0..1001).map(|id| format!(r#"{{"id":{id},"result":{{}}}}"#)).collect();
        let answers: Vec<_> = answers.iter().map(String::as_str).collect();

        assert_eq!(of(&answers), ["1001 times {}"]);
    }

    fn of(messages: &[&str]) -> Vec<String> {
        let heard: Vec<_> = messages.iter().map(|it| Heard::message((*it).to_owned())).collect();
        lines(&heard)
    }
}
