//! How a server's account is logged in to: what may be set about it, and the account itself as a source of
//! tokens.
//!
//! Every command that talks to a URL takes tokens from a stored login, unless a token is configured. None of
//! them begins a login: there is no person in what is made here. `ridethrough login` adds one.

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
