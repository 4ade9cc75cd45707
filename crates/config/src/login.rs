//! How a command logs in to a server: what its flags, or a line in the file of a host, say about it.

mod flags;
mod settings;
mod their_arguments;

pub use flags::{FlagSources, LOGIN_SECONDS, LoginFlags};
pub use settings::{LoginFlow, OAuthSettings};
pub use their_arguments::TheirArguments;
