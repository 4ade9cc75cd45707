//! Questions that cannot be answered here: refused, and reported with what would answer them.

use std::sync::Arc;

use ridethrough::event::{Answer, Delivered};
use ridethrough::model::FormRequest;
use ridethrough::{Client, Json};
use ridethrough_terminal::stderr::Terminal;
use tokio::task::AbortHandle;

use super::super::aside;
use super::form::Form;
use crate::safe;

/// Refuses the questions that no handler answers, for as long as the client lives.
pub(in crate::talk) fn refuse_unanswered(client: &Client, terminal: Arc<Terminal>) -> AbortHandle {
    let mut inbox = client.inbox();
    let refusing = async move {
        let mut told = 0;
        while let Some(delivered) = inbox.next().await {
            let (question, method, params) = match delivered {
                Delivered::Question { question, method, params, .. } => (question, method, params),
                Delivered::Notification { method, .. } if &*method == COMPLETE => {
                    terminal
                        .say("the server says that what it sent you to a web page for is complete");
                    continue;
                }
                _ => continue,
            };
            let (words, answer) = refusal(&method, params).await;
            // A server that asks without end is not reported without end.
            if told < MOST_TOLD {
                terminal.say(&words);
                told += 1;
            }
            inbox.answer(question, answer);
        }
    };
    tokio::spawn(refusing).abort_handle()
}

/// Returns the line for the person, and the answer to the server.
async fn refusal(method: &str, params: Option<Json>) -> (String, Answer) {
    let not_found = || Answer::refusal(-32601, "Method not found");
    let shown = safe::line(method);
    match method {
        "elicitation/create" => {
            let (asked, hint) = elicitation(params.unwrap_or_else(Json::empty_object)).await;
            let words = format!(
                "warning: the server asked {asked}; it was declined: stdin and stderr are no terminal \
                 to ask on\n  hint: {hint}"
            );
            // Every server understands a declined form, even one that should not have asked.
            (words, Answer::Result(Json::new(DECLINED).expect("written as JSON here")))
        }
        super::SAMPLING => (
            "warning: the server asked a model (`sampling/createMessage`); it was refused: none is \
             given\n  hint: `--sampling-command COMMAND` names a program that answers"
                .to_owned(),
            not_found(),
        ),
        _ => (
            format!(
                "warning: the server asked `{shown}`, which this command does not answer; it was refused"
            ),
            not_found(),
        ),
    }
}

/// Returns what was asked of a person, and what would answer it.
async fn elicitation(params: Json) -> (String, String) {
    let terminal = "run it on a terminal";
    let message = params.member("message").and_then(|it| it.read::<String>()).unwrap_or_default();
    let message = safe::line(&message);
    let message = super::super::schema::cut(&message, LONGEST);
    let is_url = params.member("mode").is_some_and(|it| it.string().as_deref() == Some("url"));
    if is_url {
        let url = params.member("url").and_then(|it| it.read::<String>()).unwrap_or_default();
        return (format!("to visit `{}` (`{message}`)", safe::line(&url)), terminal.to_owned());
    }
    let form =
        aside::briefly(move || params.read().and_then(|it: FormRequest| Form::new(&it).ok()));
    let form = form.await.flatten();
    let names = form.map(|it| it.names()).unwrap_or_default();
    let asked: Vec<_> = names.iter().map(|it| format!("`{it}`")).collect();
    let flags: Vec<_> = names.iter().map(|it| format!("--answer {it}=...")).collect();
    if names.is_empty() {
        (
            format!("for a yes or a no (`{message}`)"),
            format!("{terminal}, or agree with `--answer {{}}`"),
        )
    } else {
        (
            format!("for {} (`{message}`)", asked.join(", ")),
            format!("{terminal}, or answer with `{}`", flags.join(" ")),
        )
    }
}

const COMPLETE: &str = "notifications/elicitation/complete";
const DECLINED: &str = r#"{"action":"decline"}"#;
const MOST_TOLD: usize = 20;
/// The most characters of a message in a warning.
const LONGEST: usize = 300;
