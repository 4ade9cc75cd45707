//! Explains a failed login, with the flag or the command that helps.

use std::error::Error;

use ridethrough_check::allowing;
use ridethrough_oauth::error::LoginFailure;
use ridethrough_oauth_core::device::DeviceError;
use ridethrough_oauth_core::discovery::DiscoveryError;
use ridethrough_oauth_core::registration::RegistrationError;
use ridethrough_oauth_core::token_answer::TokenError;

use crate::ending::exit::{Exit, Trouble};
use crate::ending::next_step::Spoken;
use crate::safe;

/// Returns what a person is told about a failed login.
pub(crate) fn told(error: &LoginFailure, server: &Spoken) -> Trouble {
    let (exit, hint) = hint(error, server);
    let (what, tried) = match error {
        LoginFailure::Discovery(error) => (error.failure.to_string(), asked(error)),
        error => (with_causes(error), "to log in".to_owned()),
    };
    // Both contain words of servers.
    let what = safe::line(what.trim_end_matches([':', ' ']));
    let tried = format!("{}; what was stored before is as it was", safe::line(&tried));
    Trouble { exit, what, tried, hint }
}

fn with_causes(error: &LoginFailure) -> String {
    let mut what = error.to_string().replace("set `client_id`", "name it with `--client-id`");
    let mut cause = error.source();
    while let Some(error) = cause {
        what = format!("{what}: {error}");
        cause = error.source();
    }
    what
}

/// Returns the requests of discovery, and the answer to each.
fn asked(error: &DiscoveryError) -> String {
    match error.tried.as_slice() {
        [] => "to find the authorization server".to_owned(),
        tried => tried.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    }
}

fn hint(error: &LoginFailure, server: &Spoken) -> (Exit, String) {
    let with = |flags: &str| format!("`{}`", server.command("login", flags));
    let again = || format!("try again: {}", with(""));
    match error {
        LoginFailure::ClientIdNeeded { issuer } => (Exit::Unauthorized, register(issuer, server)),
        LoginFailure::Discovery(error) => discovery(error, server),
        LoginFailure::NoAnswer { .. } => (Exit::Unreachable, again()),
        LoginFailure::Registration(error) => registration(error, server),
        LoginFailure::Token(TokenError::Transient { .. }) => (Exit::Unreachable, again()),
        LoginFailure::Token(TokenError::ClientDead { .. }) => {
            (Exit::Unauthorized, format!("{} registers a new one", with("--new-client")))
        }
        LoginFailure::Token(TokenError::InvalidScope { .. }) => {
            (Exit::Unauthorized, format!("ask for other scopes: {}", with("--scope SCOPE")))
        }
        LoginFailure::Token(TokenError::InvalidTarget { .. }) => {
            let words = format!("send no resource: {}", with("--disable-resource-parameter"));
            (Exit::Unauthorized, words)
        }
        LoginFailure::NoDeviceEndpoint { .. } => {
            (Exit::Unauthorized, format!("log in by a browser: {}", with("--no-browser")))
        }
        LoginFailure::NoIdToken => (Exit::Unauthorized, with("--scope openid")),
        LoginFailure::Listener(_) => {
            (Exit::Failure, format!("name a port that is free: {}", with("--callback-port PORT")))
        }
        LoginFailure::Store(_) => (
            Exit::Failure,
            "mend what is wrong with the folder, or name another one in `RIDETHROUGH_AUTH_DIR`"
                .to_owned(),
        ),
        LoginFailure::OtherIssuer(_) => (
            Exit::Unauthorized,
            format!("name a client of this issuer: {}", with("--client-id ID")),
        ),
        LoginFailure::Device(DeviceError::AccessDenied) | LoginFailure::Login(_) => {
            (Exit::Unauthorized, again())
        }
        LoginFailure::NotFinished(_) => (
            Exit::Unauthorized,
            format!("{}; a browser on another machine can be used with `--no-browser`", again()),
        ),
        _ => (Exit::Unauthorized, again()),
    }
}

fn register(issuer: &str, server: &Spoken) -> String {
    let flags = "--client-id ID --callback-port 8765";
    format!(
        "register a client at {} with the redirect URI `http://127.0.0.1:8765/callback`, then `{}`; a client with \
         a secret needs `--client-secret-env VAR`, too",
        safe::line(issuer),
        server.command("login", flags)
    )
}

fn discovery(error: &DiscoveryError, server: &Spoken) -> (Exit, String) {
    let with = |flags: &str| format!("`{}`", server.command("login", flags));
    if let Some(flags) = allowing(error) {
        return (Exit::Unauthorized, format!("if you know that this is right: {}", with(&flags)));
    }
    if error.is_transient() {
        return (Exit::Unreachable, format!("try again later: {}", with("")));
    }
    let words =
        format!("ask who runs the server how to log in; {}", crate::ending::next_step::CREDENTIALS);
    (Exit::Unauthorized, words)
}

fn registration(error: &RegistrationError, server: &Spoken) -> (Exit, String) {
    let with = |flags: &str| format!("`{}`", server.command("login", flags));
    match error {
        RegistrationError::Transient { .. } => {
            (Exit::Unreachable, format!("try again later: {}", with("")))
        }
        _ => (
            Exit::Unauthorized,
            format!(
                "register a client there by hand, then {}",
                with("--client-id ID --callback-port 8765")
            ),
        ),
    }
}
