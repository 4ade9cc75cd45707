//! A program of the user that acts as the model: `--sampling-command`.
//!
//! It gets the server's request as JSON on stdin, and prints the answer: a result as JSON, or plain text. It
//! is started for each request, and killed when its answer is not needed any more.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use ridethrough::Json;
use ridethrough::event::Refusal;
use ridethrough_terminal::stderr::Terminal;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::misuse::Misuse;
use crate::safe;

/// The program, and its arguments.
#[derive(Clone)]
pub(super) struct Model {
    program: String,
    args: Vec<String>,
}

impl Model {
    /// Reads a command line as a shell would.
    pub(super) fn read(command: &str) -> Result<Self, Misuse> {
        let words = shell_words::split(command).map_err(|error| error.to_string());
        let words =
            words.and_then(|it| if it.is_empty() { Err(NO_WORD.to_owned()) } else { Ok(it) });
        let words = words.map_err(|why| Misuse {
            what: format!("`--sampling-command` cannot be used: {why}"),
            tried: "it was split as a shell would; nothing was started".to_owned(),
            hint:
                "write the program and its arguments, such as `--sampling-command 'llm -m small'`"
                    .to_owned(),
        })?;
        let mut words = words.into_iter();
        Ok(Self { program: words.next().unwrap_or_default(), args: words.collect() })
    }

    /// Lets the program answer. A failure is shown to the person, and is an error to the server.
    pub(super) async fn answer(
        &self,
        params: Option<Json>,
        terminal: Arc<Terminal>,
    ) -> Result<Json, Refusal> {
        let params = params.unwrap_or_else(Json::empty_object);
        let count = params.member("messages").and_then(|it| it.elements()).map_or(0, |it| it.len());
        let plural = if count == 1 { "" } else { "s" };
        terminal.say(&format!(
            "the server asks a model ({count} message{plural}): `{}` answers",
            safe::line(&self.program)
        ));
        let ran = timeout(TIME, self.run(&params, &terminal)).await;
        let late = || Err(format!("gave no answer within {} s", TIME.as_secs()));
        let answer = ran.unwrap_or_else(|_| late()).and_then(|said| self.result(&said));
        answer.map_err(|why| {
            terminal.say(&format!(
                "warning: the sampling command {}; the server was told",
                safe::line(&why)
            ));
            // The program's message is the user's own, and is not sent to the server.
            Refusal::with_code(-32603, "the model of this client failed")
        })
    }

    async fn run(&self, params: &Json, terminal: &Terminal) -> Result<Vec<u8>, String> {
        let mut child = self.start()?;
        let mut stdin = child.stdin.take().expect("it is piped");
        let request = params.as_bytes().clone();
        let writing = async move {
            // A program that does not read the whole request may still answer.
            let _ = stdin.write_all(&request).await;
            drop(stdin);
        };
        let stdout = child.stdout.take().expect("it is piped");
        let stderr = child.stderr.take().expect("it is piped");
        let ((), said, ()) = tokio::join!(writing, all(stdout), tell(stderr, terminal));
        let said = said?;
        let status = child.wait().await.map_err(|error| format!("is gone: {error}"))?;
        if status.success() { Ok(said) } else { Err(format!("failed ({status})")) }
    }

    fn start(&self) -> Result<Child, String> {
        let mut command = Command::new(&self.program);
        command.args(&self.args).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().map_err(|error| format!("`{}` cannot be started: {error}", self.program))
    }

    /// Returns the printed text as the result for the server.
    fn result(&self, said: &[u8]) -> Result<Json, String> {
        let text = std::str::from_utf8(said).map_err(|_| "printed what is no text".to_owned())?;
        if text.trim().is_empty() {
            return Err("printed nothing".to_owned());
        }
        let json = Json::new(text.trim().to_owned()).ok();
        match json.filter(|it| it.as_str().starts_with('{') && it.member("content").is_some()) {
            Some(result) => Ok(self.completed(&result)),
            None => {
                let content = json!({"type": "text", "text": text.trim_end_matches(['\n', '\r'])});
                let content =
                    Json::empty_object().with_members([("content".to_owned(), content.into())]);
                Ok(self.completed(&content))
            }
        }
    }

    /// Completes a result with members that the protocol requires and the program left out.
    fn completed(&self, result: &Json) -> Json {
        let model = self.program.rsplit(['/', '\\']).next().unwrap_or_default();
        let defaults = [
            ("role", json!("assistant")),
            ("model", json!(model)),
            ("stopReason", json!("endTurn")),
        ];
        let missing = defaults.into_iter().filter(|(name, _)| result.member(name).is_none());
        result.with_members(missing.map(|(name, value)| (name.to_owned(), value.into())))
    }
}

/// Returns everything that is printed, up to the size of a message that can be sent.
async fn all(stdout: impl AsyncRead + Unpin) -> Result<Vec<u8>, String> {
    let mut said = Vec::new();
    let mut stdout = stdout.take(LARGEST + 1);
    stdout.read_to_end(&mut said).await.map_err(|error| format!("cannot be read: {error}"))?;
    if said.len() as u64 > LARGEST {
        Err(format!("printed more than {} MiB", LARGEST >> 20))
    } else {
        Ok(said)
    }
}

/// Shows the program's stderr to the person.
async fn tell(stderr: impl AsyncRead + Unpin, terminal: &Terminal) {
    let mut lines = BufReader::new(stderr.take(LARGEST)).lines();
    // Lines that are not UTF-8 end it.
    while let Ok(Some(line)) = lines.next_line().await {
        terminal.say(&safe::line(&line));
    }
}

/// How long the program may take: as long as a person would wait for a model.
const TIME: Duration = Duration::from_secs(120);
const LARGEST: u64 = 8 << 20;

const NO_WORD: &str = "it names no program";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_a_message_and_json_is_the_result_itself() {
        let model = Model::read("/usr/bin/llm -m 'a b'").unwrap();
        let result = |said: &str| model.result(said.as_bytes()).unwrap().as_str().to_owned();

        assert_eq!(
            result("4\n"),
            r#"{"content":{"text":"4","type":"text"},"role":"assistant","model":"llm","stopReason":"endTurn"}"#
        );
        let whole = r#"{"role":"assistant","content":{"type":"text","text":"4"},"model":"m","stopReason":"maxTokens"}"#;
        assert_eq!(result(&format!(" {whole}\n")), whole);
        // JSON of another form is a text.
        assert!(result(r#"{"answer":4}"#).contains(r#""text":"{\"answer\":4}""#));
    }

    #[test]
    fn nothing_is_no_answer() {
        let model = Model::read("llm").unwrap();

        assert_eq!(model.result(b" \n").unwrap_err(), "printed nothing");
        assert_eq!(model.result(&[0xff]).unwrap_err(), "printed what is no text");
    }
}
