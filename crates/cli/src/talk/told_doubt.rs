//! What a bridge or a gateway between this command and the server tells by an error: that the call may have run.
//!
//! The client reads a doubt that is told as a result by itself. An error of a server is an answer to it.

use ridethrough::Error;
use ridethrough::call::CallName;
use ridethrough_core::outcome::told_as_error;

/// Returns the error of a call that may have run, with all its facts, if that is what the server's error tells; any
/// other error as it is.
pub(super) fn read_back(error: Error, call: CallName, is_repeatable: bool) -> Error {
    let Error::Server(server) = &error else { return error };
    let Some(mut doubt) = told_as_error(&server.json, &call) else { return error };
    // The front knew it as well, and has told it in words only.
    doubt.is_repeatable = is_repeatable;
    Error::Call(doubt)
}
