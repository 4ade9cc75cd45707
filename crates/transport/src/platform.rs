//! What differs by platform. No other file of this crate names a platform. A local server is started on Unix
//! only: no process may stay behind, and other platforms have no process groups to end it by.

use std::sync::Arc;

use crate::command::Command;
use crate::transport::Transport;

/// Returns the transport to a local server, which is started when it is first needed.
///
/// # Errors
///
/// Fails if this platform, or this build, has no local servers.
#[cfg(all(unix, feature = "stdio"))]
pub fn local_server(command: &Command, message_limit: usize) -> Result<Arc<dyn Transport>, String> {
    Ok(Arc::new(crate::stdio::Stdio::new(command.clone(), message_limit)))
}

/// Refuses a local server, which this platform or this build cannot start.
///
/// # Errors
///
/// Fails always.
#[cfg(not(all(unix, feature = "stdio")))]
pub fn local_server(_: &Command, _: usize) -> Result<Arc<dyn Transport>, String> {
    Err("a local server can be started on Unix only, with the feature `stdio`".to_owned())
}
