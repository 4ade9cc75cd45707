//! What the suite's tools ask a client: by a request where there is a session, and by a result that wants the
//! call again where there is none.

use rmcp::model::InputResponses;
use serde_json::{Map, Value, json};

use crate::failure::{Context, Failure, of, refusal};
use crate::rounds::{is_stateless, request};

/// Asks the client of one request, which may bring along the answers and the state of an earlier round.
pub(super) struct Questions<'a> {
    pub(super) context: &'a Context,
    answers: InputResponses,
    state: Option<String>,
}

/// A question of a round: its key, method and parameters.
type Question<'a> = (&'a str, &'a str, Value);

impl<'a> Questions<'a> {
    pub(super) fn of(
        context: &'a Context,
        answers: Option<InputResponses>,
        state: Option<String>,
    ) -> Self {
        Self { context, answers: answers.unwrap_or_default(), state }
    }

    /// Asks one question, in either era.
    pub(super) async fn ask(
        &self,
        key: &str,
        method: &str,
        params: Value,
    ) -> Result<Value, Failure> {
        if !is_stateless(self.context) {
            return request(self.context, method, Some(params)).await;
        }
        match self.answer(key) {
            Some(answer) => Ok(answer.clone()),
            None => Err(asks([(key, method, params)], None)),
        }
    }

    /// Asks several questions at once, with a state that must come back as it is. Only without a session.
    pub(super) fn ask_all<const N: usize>(
        &self,
        questions: [Question<'_>; N],
        state: &str,
    ) -> Result<(), Failure> {
        let is_answered = questions.iter().all(|(key, ..)| self.answer(key).is_some());
        match &self.state {
            Some(other) if other != state => {
                Err(refusal(-32602, format!("the state is `{other}`")))
            }
            Some(_) if is_answered => Ok(()),
            _ => Err(asks(questions, Some(state))),
        }
    }

    /// Asks two questions, one round after the other.
    pub(super) fn ask_in_turn(
        &self,
        first: Question<'_>,
        second: Question<'_>,
    ) -> Result<(), Failure> {
        match self.state.as_deref() {
            Some("second") => self.ask_all([second], "second"),
            Some(_) => {
                self.ask_all([first], "first")?;
                Err(asks([second], Some("second")))
            }
            None => Err(asks([first], Some("first"))),
        }
    }

    /// An answer is an object; anything else is none.
    fn answer(&self, key: &str) -> Option<&Value> {
        self.answers.get(key).filter(|answer| answer.is_object())
    }
}

fn asks<'a>(questions: impl IntoIterator<Item = Question<'a>>, state: Option<&str>) -> Failure {
    let requests: Map<_, _> = questions
        .into_iter()
        .map(|(key, method, params)| {
            (key.to_owned(), json!({ "method": method, "params": params }))
        })
        .collect();
    let mut result = json!({ "resultType": "input_required", "inputRequests": requests });
    if let Some(state) = state {
        result["requestState"] = json!(state);
    }
    of(result).map_or_else(Failure::Protocol, Failure::Asks)
}

/// A form with these fields, all of them required strings.
pub(super) fn form(message: &str, fields: &[&str]) -> Value {
    let properties: Map<_, _> =
        fields.iter().map(|field| ((*field).to_owned(), json!({ "type": "string" }))).collect();
    form_of(message, Value::Object(properties), fields)
}

pub(super) fn form_of(message: &str, properties: Value, required: &[&str]) -> Value {
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    json!({ "mode": "form", "message": message, "requestedSchema": schema })
}

pub(super) fn prompt(text: &str) -> Value {
    let message = json!({ "role": "user", "content": { "type": "text", "text": text } });
    json!({ "messages": [message], "maxTokens": 100 })
}
