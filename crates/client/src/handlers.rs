//! Handlers, which answer the server's questions.
//!
//! A handler is a function from params to an answer. It runs in a task of its own, so it may take long; when
//! its answer is no longer wanted, its future is dropped.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use ridethrough_wire::message::{Answer, Json};
use serde::Serialize;

use crate::model::UrlRequest;
use crate::model::{self, Elicited, FormRequest, Model, Root, SamplingRequest, SamplingResult};

type Handler<I, O> = Arc<dyn Fn(I) -> BoxFuture<'static, O> + Send + Sync>;

/// All handlers of a client.
#[derive(Clone, Default)]
pub(crate) struct Handlers {
    by_method: BTreeMap<String, Handler<Option<Json>, Answer>>,
    form: Option<Handler<FormRequest, Elicited>>,
    url: Option<Handler<UrlRequest, Elicited>>,
    roots: Option<Json>,
}

/// The refusal of a handler.
///
/// ```
/// use ridethrough::event::Refusal;
///
/// let refusal = Refusal::new("the user said no");
/// let precise = Refusal::with_code(-32602, "no such model");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    code: i64,
    message: String,
}

impl Refusal {
    /// Creates a refusal with this message, which the server and its logs will see. The code is -1, that of a
    /// person who declined.
    pub fn new(message: impl Into<String>) -> Self {
        Self::with_code(-1, message)
    }

    /// Creates a refusal with a JSON-RPC code.
    pub fn with_code(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "refused: {}", self.message)
    }
}

impl std::error::Error for Refusal {}

impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Self {
        Self::refusal(refusal.code, &refusal.message)
    }
}

impl Handlers {
    pub(crate) fn on_request<F>(
        &mut self,
        method: String,
        handler: impl Fn(Option<Json>) -> F + Send + Sync + 'static,
    ) where
        F: Future<Output = Result<Json, Refusal>> + Send + 'static,
    {
        let handler = move |params| {
            let answering = handler(params);
            let answering = async { answering.await.map_or_else(Answer::from, Answer::Result) };
            Box::pin(answering) as BoxFuture<'static, Answer>
        };
        self.by_method.insert(method, Arc::new(handler));
    }

    pub(crate) fn on_sampling<F>(
        &mut self,
        handler: impl Fn(SamplingRequest) -> F + Send + Sync + 'static,
    ) where
        F: Future<Output = Result<SamplingResult, Refusal>> + Send + 'static,
    {
        let handler = move |params| {
            let answering = read(params).map(&handler);
            let answering = async {
                let result = answering?.await?;
                Ok(Json::of(&result).expect("made of JSON and strings"))
            };
            Box::pin(answering) as BoxFuture<'static, Result<Json, Refusal>>
        };
        self.on_request(SAMPLING.to_owned(), handler);
    }

    pub(crate) fn on_form<F>(&mut self, handler: impl Fn(FormRequest) -> F + Send + Sync + 'static)
    where
        F: Future<Output = Elicited> + Send + 'static,
    {
        self.form = Some(Arc::new(move |request| Box::pin(handler(request))));
    }

    pub(crate) fn on_url<F>(&mut self, handler: impl Fn(UrlRequest) -> F + Send + Sync + 'static)
    where
        F: Future<Output = Elicited> + Send + 'static,
    {
        self.url = Some(Arc::new(move |request| Box::pin(handler(request))));
    }

    pub(crate) fn set_roots(&mut self, roots: &[Root]) {
        #[derive(Serialize)]
        struct Roots<'a> {
            roots: &'a [Root],
        }

        self.roots = Some(Json::of(&Roots { roots }).expect("made of strings"));
    }

    /// Returns the future of a question's handler, if there is one.
    pub(crate) fn answer(
        &self,
        method: &str,
        params: Option<Json>,
    ) -> Option<BoxFuture<'static, Answer>> {
        if let Some(handler) = self.by_method.get(method) {
            // The handler's function, too, runs in the question's own task.
            let handler = handler.clone();
            return Some(Box::pin(async move { handler(params).await }));
        }
        match method {
            ELICITATION if self.form.is_some() || self.url.is_some() => Some(self.elicit(params)),
            ROOTS => {
                let roots = self.roots.clone()?;
                Some(Box::pin(std::future::ready(Answer::Result(roots))))
            }
            _ => None,
        }
    }

    /// Returns the capabilities that the handlers declare.
    pub(crate) fn capabilities(&self) -> Vec<(String, Json)> {
        let json = |text: &'static str| Json::new(text).expect("written as JSON here");
        let elicitation = match (&self.form, &self.url) {
            (None, None) => None,
            (Some(_), None) => Some(r#"{"form":{}}"#),
            (None, Some(_)) => Some(r#"{"url":{}}"#),
            (Some(_), Some(_)) => Some(r#"{"form":{},"url":{}}"#),
        };
        let sampling = self.by_method.contains_key(SAMPLING).then_some("{}");
        let roots = self.roots.is_some().then_some(r#"{"listChanged":true}"#);
        [("elicitation", elicitation), ("roots", roots), ("sampling", sampling)]
            .into_iter()
            .filter_map(|(name, text)| Some((name.to_owned(), json(text?))))
            .collect()
    }

    fn elicit(&self, params: Option<Json>) -> BoxFuture<'static, Answer> {
        let (form, url) = (self.form.clone(), self.url.clone());
        Box::pin(async move {
            let asked = match mode(params.as_ref()) {
                Mode::Form => elicit_form(form, params).await,
                Mode::Unknown => Err(Refusal::with_code(-32602, "unknown mode of elicitation")),
                Mode::Url => elicit_url(url, params).await,
            };
            asked.map_or_else(Answer::from, Answer::Result)
        })
    }
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handlers").finish_non_exhaustive()
    }
}

async fn elicit_form(
    handler: Option<Handler<FormRequest, Elicited>>,
    params: Option<Json>,
) -> Result<Json, Refusal> {
    let handler = handler.ok_or_else(|| Refusal::with_code(-32602, "forms are not supported"))?;
    let request: FormRequest = read(params)?;
    let elicited = handler(request.clone()).await;
    if matches!(&elicited, Elicited::Accepted(content) if !content.as_str().starts_with('{')) {
        return Err(Refusal::with_code(-32603, "the form was not filled in with an object"));
    }
    Ok(elicited.into_result(Some(&request)))
}

async fn elicit_url(
    handler: Option<Handler<UrlRequest, Elicited>>,
    params: Option<Json>,
) -> Result<Json, Refusal> {
    let handler = handler.ok_or_else(|| Refusal::with_code(-32602, "URLs are not supported"))?;
    Ok(handler(read(params)?).await.into_result(None))
}

enum Mode {
    Form,
    Unknown,
    Url,
}

/// Returns the mode of an elicitation. Revisions before 2025-11-25 have forms only and name no mode.
fn mode(params: Option<&Json>) -> Mode {
    #[derive(serde::Deserialize)]
    struct Asked {
        #[serde(default)]
        mode: Option<String>,
    }

    let mode = params.and_then(Json::read).and_then(|Asked { mode }| mode);
    match mode.as_deref() {
        None | Some("form") => Mode::Form,
        Some("url") => Mode::Url,
        Some(_) => Mode::Unknown,
    }
}

fn read<M: Model>(params: Option<Json>) -> Result<M, Refusal> {
    let invalid =
        |error: serde_json::Error| Refusal::with_code(-32602, format!("invalid params: {error}"));
    model::read(params.unwrap_or_else(Json::empty_object)).map_err(invalid)
}

const ELICITATION: &str = "elicitation/create";
const ROOTS: &str = "roots/list";
const SAMPLING: &str = "sampling/createMessage";
