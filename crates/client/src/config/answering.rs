//! What a client can do for its server: the handlers of its requests.
//!
//! Each says by itself, in the capabilities of the next handshake, that it is there.

use ridethrough_core::message::Json;

use super::ClientBuilder;
use crate::handlers::Refusal;
use crate::model::{Elicited, FormRequest, Root, SamplingRequest, SamplingResult, UrlRequest};

impl ClientBuilder {
    /// Lets the server use a model of ours.
    ///
    /// The handler runs in a task of its own and is dropped when the server no longer wants its
    /// answer. One that panics is answered with an error.
    ///
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use ridethrough::Client;
    /// use ridethrough::model::SamplingResult;
    ///
    /// let client = Client::builder("https://example.com/mcp")
    ///     .on_sampling(|request| async move {
    ///         let said = request.messages.len();
    ///         Ok(SamplingResult::text("our-model", format!("{said} messages so far")))
    ///     })
    ///     .build()?;
    /// # Ok(()) }
    /// ```
    pub fn on_sampling<F>(
        mut self,
        handler: impl Fn(SamplingRequest) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<SamplingResult, Refusal>> + Send + 'static,
    {
        self.handlers.on_sampling(handler);
        self
    }

    /// Lets the server ask a person to fill in a form.
    ///
    /// What the handler leaves out of an accepted form is filled in with the defaults of its schema.
    ///
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use ridethrough::Client;
    /// use ridethrough::model::Elicited;
    ///
    /// let client = Client::builder("https://example.com/mcp")
    ///     .on_form(|form| async move {
    ///         println!("{}", form.message);
    ///         Elicited::accepted()
    ///     })
    ///     .build()?;
    /// # Ok(()) }
    /// ```
    pub fn on_form<F>(mut self, handler: impl Fn(FormRequest) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Elicited> + Send + 'static,
    {
        self.handlers.on_form(handler);
        self
    }

    /// Lets the server send a person to a URL (from revision 2025-11-25 on). The handler must show
    /// it and ask; it answers when the person has agreed, not when all is done there.
    ///
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use ridethrough::Client;
    /// use ridethrough::model::Elicited;
    ///
    /// let client = Client::builder("https://example.com/mcp")
    ///     .on_url(|request| async move {
    ///         println!("{}: open {} ?", request.message, request.url);
    ///         Elicited::Declined
    ///     })
    ///     .build()?;
    /// # Ok(()) }
    /// ```
    pub fn on_url<F>(mut self, handler: impl Fn(UrlRequest) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Elicited> + Send + 'static,
    {
        self.handlers.on_url(handler);
        self
    }

    /// Answers every other request of the server by this name; before a handler of its own kind, if
    /// there is one. What it needs in the capabilities is yours to say.
    ///
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use ridethrough::{Client, Json};
    ///
    /// let client = Client::builder("https://example.com/mcp")
    ///     .on_request("acme/time", |_params| async { Ok(Json::from(serde_json::json!({ "hour": 7 }))) })
    ///     .build()?;
    /// # Ok(()) }
    /// ```
    pub fn on_request<F>(
        mut self,
        method: impl Into<String>,
        handler: impl Fn(Option<Json>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Json, Refusal>> + Send + 'static,
    {
        self.handlers.on_request(method.into(), handler);
        self
    }

    /// The places that the server may work in; none is a valid answer, too. They can be changed
    /// by [`Client::set_roots`](crate::Client::set_roots).
    ///
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use ridethrough::Client;
    /// use ridethrough::model::Root;
    ///
    /// let home = Root::new("file:///home/me/project").named("project");
    /// let client = Client::builder("https://example.com/mcp").roots([home]).build()?;
    /// client.set_roots([Root::new("file:///home/me/other")]);
    /// # Ok(()) }
    /// ```
    pub fn roots(mut self, roots: impl IntoIterator<Item = Root>) -> Self {
        let roots: Vec<Root> = roots.into_iter().collect();
        self.handlers.set_roots(&roots);
        self
    }
}
