//! The names of notifications, each written once.

/// The progress of a call.
pub const PROGRESS: &str = "notifications/progress";
/// The cancellation of a request.
pub const CANCELLED: &str = "notifications/cancelled";
/// A message of the server's log.
pub const LOG: &str = "notifications/message";
/// A change of the list of prompts.
pub const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";
/// A change of the lists of resources and of resource templates.
pub const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";
/// A change of a resource's content.
pub const RESOURCE_UPDATED: &str = "notifications/resources/updated";
/// A change of the list of tools.
pub const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
/// The completion of a visit to a URL that a person was asked for.
pub const ELICITATION_COMPLETE: &str = "notifications/elicitation/complete";

/// Whether a method is that of a notification. Nothing else may be sent without an id.
pub fn is_one(method: &str) -> bool {
    method.starts_with("notifications/")
}
