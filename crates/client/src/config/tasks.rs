//! Whether a client follows tasks, and how it declares that.

use ridethrough_wire::message::Json;

use super::ClientBuilder;

impl ClientBuilder {
    /// Makes the client follow tasks. A server may then answer [`call_tool`](crate::Client::call_tool) at
    /// once and continue the work, and the client asks for the result until there is one, through any number
    /// of faults. A call can also be kept as a [`Task`](crate::task::Task), by
    /// [`as_task`](crate::Call::as_task).
    ///
    /// The client declares it by the extension `io.modelcontextprotocol/tasks`; naming that in
    /// [`capabilities`](Self::capabilities) has the effect of this method. Without it, a task is no valid
    /// answer.
    ///
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use ridethrough::Client;
    /// use ridethrough::server::Eras;
    ///
    /// let client = Client::builder("https://example.com/mcp").eras(Eras::Either).tasks().build()?;
    /// # Ok(()) }
    /// ```
    pub const fn tasks(mut self) -> Self {
        self.is_following_tasks = true;
        self
    }
}

/// Whether these capabilities declare that the client follows tasks.
pub(super) fn declares(capabilities: &Json) -> bool {
    capabilities.member(EXTENSIONS).is_some_and(|it| it.member(TASKS).is_some())
}

/// Returns the capabilities with tasks among their extensions.
///
/// The `tasks` capability of 2025-11-25 says which requests of the *server* may become tasks of the client:
/// none.
pub(super) fn with_tasks(capabilities: &Json) -> Json {
    if declares(capabilities) {
        return capabilities.clone();
    }
    let extensions = capabilities.member(EXTENSIONS).unwrap_or_else(Json::empty_object);
    let extensions = extensions.with_members([(TASKS.to_owned(), Json::empty_object())]);
    let others = capabilities.members().into_iter().filter(|(name, _)| name != EXTENSIONS);
    Json::empty_object().with_members(others.chain([(EXTENSIONS.to_owned(), extensions)]))
}

const EXTENSIONS: &str = "extensions";
const TASKS: &str = "io.modelcontextprotocol/tasks";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_stand_beside_other_extensions_and_are_said_once() {
        let said = Json::new(r#"{"extensions":{"a/b":{}},"roots":{}}"#).unwrap();

        let with = with_tasks(&said);

        assert_eq!(
            with.as_str(),
            r#"{"roots":{},"extensions":{"a/b":{},"io.modelcontextprotocol/tasks":{}}}"#
        );
        assert_eq!(with_tasks(&with), with);
        assert!(declares(&with) && !declares(&said));
    }
}
