//! Handlers for the server's requests.
//!
//! Each handler declares itself in the capabilities of the next handshake.

use ridethrough_wire::message::Json;

use super::ClientBuilder;
use crate::handlers::Refusal;
use crate::model::{Elicited, FormRequest, Root, SamplingRequest, SamplingResult, UrlRequest};

impl ClientBuilder {
    /// Sets the handler for sampling, by which the server uses the client's model.
    ///
    /// The handler runs in a task of its own and is dropped when the server no longer wants its answer. If it
    /// panics, the server gets an error.
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

    /// Sets the handler for forms that the server asks a person to fill in.
    ///
    /// Fields that the handler leaves out of an accepted form get the defaults of the form's schema.
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

    /// Sets the handler for URLs that the server asks a person to visit (from revision 2025-11-25 on). The
    /// handler must show the URL and ask for consent; it returns when the person has agreed, not when the
    /// visit is over.
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

    /// Sets the handler for the server's requests with this method. It takes precedence over a typed handler.
    /// Capabilities that the method needs must be set by [`capabilities`](Self::capabilities).
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

    /// Sets the roots that the server may work in; an empty list is valid. They can be changed by
    /// [`Client::set_roots`](crate::Client::set_roots).
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
