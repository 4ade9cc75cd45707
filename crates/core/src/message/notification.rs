//! The names of notifications, each written once.

/// A call moves.
pub const PROGRESS: &str = "notifications/progress";
/// A request is not wanted any more.
pub const CANCELLED: &str = "notifications/cancelled";
/// A line of the server's log.
pub const LOG: &str = "notifications/message";
/// The list of prompts is another.
pub const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";
/// The lists of resources and of their templates are others.
pub const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";
/// A resource has another content.
pub const RESOURCE_UPDATED: &str = "notifications/resources/updated";
/// The list of tools is another.
pub const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
/// What a person was asked for at a URL is done.
pub const ELICITATION_COMPLETE: &str = "notifications/elicitation/complete";
