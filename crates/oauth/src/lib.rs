//! Logs an MCP client in, and keeps it logged in.
//!
//! The decisions are made by [`ridethrough_oauth_core`]. This crate performs them: it fetches documents,
//! listens for the browser, keeps grants in files, and locks them while they are renewed.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use ridethrough::Client;
//! use ridethrough_oauth::person::Browser;
//! use ridethrough_oauth::{ClientBuilderExt, OAuth};
//!
//! let client = Client::builder("https://example.com/mcp")
//!     .oauth(OAuth::new("my app").person(Browser::new()))?
//!     .build()?;
//! println!("{}", client.call_tool("whoami", serde_json::json!({})).await?.text());
//! # Ok(()) }
//! ```
//!
//! A login is begun only if there is a [`person::Person`] to log in. A program in the background has none:
//! its calls end with an error that says why a person must log in, and [`Account::log_in`] is for a program
//! that people see.

mod account;
mod builder;
mod clock;
mod context;
mod dpop;
pub mod error;
mod fetch;
mod identity_provider;
mod key;
mod listener;
mod login;
mod login_watch;
pub mod person;
mod platform;
mod settings;
pub mod store;
mod token_source;

pub use account::{Account, KeepClient, LoggedOut, Status};
pub use builder::ClientBuilderExt;
pub use identity_provider::IdentityProvider;
pub use key::{ClientKey, KeyError, SigningKey};
#[doc(hidden)]
pub use listener::rehearse_callback;
pub use login::{ClientOutlook, LoginOutlook};
pub use login_watch::{LoginState, LoginWatch};
pub use settings::{OAuth, RedirectTo};

pub use ridethrough_oauth_core::discovery::ResourceParameter;
pub use ridethrough_oauth_core::dpop::DpopRule;
pub use ridethrough_oauth_core::grant::LoginReason;
pub use ridethrough_oauth_core::store::GrantStatus;
pub use ridethrough_oauth_core::{Secret, Timestamp};
