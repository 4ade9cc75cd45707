//! The login of a command: its settings, and the account as a source of tokens.
//!
//! Every command that talks to a URL takes tokens from a stored login, unless a token is configured. None of
//! them begins a login, because the accounts made here have no person. `ridethrough login` adds one.

mod flags;
mod masked;
mod no_token;
mod settings;
mod their_login;

pub(crate) use flags::{FlagSources, OAuthFlags};
pub(crate) use masked::MaskedAccount;
pub(crate) use no_token::{LoginDemand, NoToken};
pub(crate) use settings::{LoginFlow, OAuthSettings};
pub(crate) use their_login::TheirArguments;
