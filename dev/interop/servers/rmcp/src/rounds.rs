//! Tools that ask the client something: by a request of their own where there is a session, and by a result
//! that wants the call again, with the answer, where there is none.

use rmcp::model::{CallToolRequestParams, InputResponses, ProtocolVersion};
use serde_json::{Value, json};

use crate::failure::{Context, Failure, of, refusal};

/// What a call brings along from an earlier round.
pub(crate) struct Given {
    answers: Option<InputResponses>,
    state: Option<String>,
}

impl Given {
    pub(crate) fn by(request: &CallToolRequestParams) -> Self {
        let (answers, state) = (request.input_responses.clone(), request.request_state.clone());
        Self { answers, state }
    }

    pub(crate) async fn ask_elicitation(&self, context: &Context) -> Result<String, Failure> {
        let answer = self.ask(context, "elicitation/create", Some(form())).await?;
        Ok(json!({ "action": answer["action"], "content": answer["content"] }).to_string())
    }

    pub(crate) async fn ask_roots(&self, context: &Context) -> Result<String, Failure> {
        let answer = self.ask(context, "roots/list", None).await?;
        let roots = answer["roots"].as_array().cloned().unwrap_or_default();
        let uris: Vec<_> = roots.iter().map(|root| &root["uri"]).collect();
        Ok(json!(uris).to_string())
    }

    pub(crate) async fn ask_sampling(
        &self,
        context: &Context,
        prompt: &Value,
    ) -> Result<String, Failure> {
        let message = json!({ "role": "user", "content": { "type": "text", "text": prompt } });
        let params = json!({ "messages": [message], "maxTokens": 50 });
        let answer = self.ask(context, "sampling/createMessage", Some(params)).await?;
        Ok(answer["content"]["text"].as_str().unwrap_or_default().to_owned())
    }

    async fn ask(
        &self,
        context: &Context,
        method: &str,
        params: Option<Value>,
    ) -> Result<Value, Failure> {
        if !is_stateless(context) {
            return request(context, method, params).await;
        }
        let state = format!("asked {method}");
        let Some(answers) = &self.answers else {
            let mut question = json!({ "method": method });
            if let Some(params) = params {
                question["params"] = params;
            }
            return Err(Failure::Asks(of(json!({
                "resultType": "input_required",
                "inputRequests": { "it": question },
                "requestState": state,
            }))?));
        };
        if self.state.as_ref() != Some(&state) {
            return Err(refusal(-32602, format!("the state is {:?}", self.state)));
        }
        Ok(answers.get("it").cloned().unwrap_or_default())
    }
}

/// A form of which every field has a default.
pub(crate) fn form() -> Value {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "default": "Ada" },
            "age": { "type": "integer", "default": 36 },
            "keen": { "type": "boolean", "default": true },
        },
    });
    json!({ "mode": "form", "message": "Who is it?", "requestedSchema": schema })
}

pub(crate) fn is_stateless(context: &Context) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

#[expect(deprecated, reason = "roots and sampling go with 2026-07-28; they are tested here")]
pub(crate) async fn request(
    context: &Context,
    method: &str,
    params: Option<Value>,
) -> Result<Value, Failure> {
    let (peer, params) = (&context.peer, params.unwrap_or_default());
    Ok(match method {
        "elicitation/create" => json!(peer.create_elicitation(of(params)?).await?),
        "roots/list" => json!(peer.list_roots().await?),
        _ => json!(peer.create_message(of(params)?).await?),
    })
}
