//! The credentials that clients must show, and what a person is told about them: the token, once.

use std::net::IpAddr;

use ridethrough_expose::{AccessPolicy, Token};

use super::address::ListenAddress;
use crate::misuse::Misuse;

/// The credentials that clients must show.
#[derive(Debug)]
pub(crate) enum Shown {
    /// A token that `expose` made.
    Fresh(Token),
    Nothing,
    /// The token in the environment variable of this name.
    Variable(String, Token),
}

impl Shown {
    /// Decides which credentials clients must show.
    pub(crate) fn read(
        variable: Option<&str>,
        nothing: bool,
        listen: &ListenAddress,
    ) -> Result<Self, Misuse> {
        if nothing && !listen.is_local() {
            return Err(misuse(
                "`--no-token` would let every machine that reaches this address in",
                "leave `--no-token` out, or listen on 127.0.0.1",
            ));
        }
        if nothing {
            return Ok(Self::Nothing);
        }
        let Some(variable) = variable else {
            let fresh = Token::random().map_err(|error| {
                misuse(&format!("no token can be made: {error}"), "name one with `--token-env VAR`")
            })?;
            return Ok(Self::Fresh(fresh));
        };
        let text = std::env::var(variable).unwrap_or_default();
        if text.trim().is_empty() {
            let what = format!("the variable `{variable}` of `--token-env` is not set");
            return Err(misuse(&what, "set it, or leave `--token-env` out for a fresh token"));
        }
        match Token::new(text.trim()) {
            Ok(token) => Ok(Self::Variable(variable.to_owned(), token)),
            Err(error) => {
                let what =
                    format!("the variable `{variable}` of `--token-env` holds none: {error}");
                Err(misuse(&what, "set it to a token"))
            }
        }
    }

    /// Returns the policy that admits clients.
    pub(crate) fn access(&self, ip: IpAddr) -> AccessPolicy {
        let token = match self {
            Self::Fresh(token) | Self::Variable(_, token) => Some(token.clone()),
            Self::Nothing => None,
        };
        AccessPolicy::new(ip, token)
    }

    /// Returns the lines for a person when the server is ready. One of them holds the token.
    pub(crate) fn welcome(&self, name: &str, url: &str, listen: &ListenAddress) -> Vec<String> {
        let mut lines =
            vec![format!("`{name}` is at {url}, with a process for each session; Ctrl-C stops")];
        match self {
            Self::Fresh(token) => {
                lines.push("the token that clients must show is told only here:".to_owned());
                lines.push(format!("  export {OURS}={}", token.reveal()));
                lines.push(format!("  ridethrough tools {url} --bearer-env {OURS}"));
            }
            Self::Nothing => {
                lines.push("whoever is on this machine may call it: there is no token".to_owned());
            }
            Self::Variable(name, _) => {
                lines.push(format!("clients must show the token of `{name}`:"));
                lines.push(format!("  ridethrough tools {url} --bearer-env {name}"));
            }
        }
        if !listen.is_local() && url.starts_with("http://") {
            lines.push(WARNING.to_owned());
        }
        lines
    }
}

pub(crate) fn misuse(what: &str, hint: &str) -> Misuse {
    let tried = "the flags were read; nothing was started".to_owned();
    Misuse { what: what.to_owned(), tried, hint: hint.to_owned() }
}

/// The variable that holds the token in the lines that a person may copy.
const OURS: &str = "EXPOSE_TOKEN";
const WARNING: &str = "warning: other machines reach this address, and it is plain HTTP: who sees the \
traffic sees the token; use `--tls-cert` and `--tls-key` where you do not trust the network";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fresh_token_is_in_one_line_of_the_welcome_and_in_no_debug_text() {
        let address = "127.0.0.1:1".parse().unwrap();
        let shown = Shown::read(None, false, &address).unwrap();
        let Shown::Fresh(token) = &shown else { panic!("not fresh") };

        let lines = shown.welcome("server", "http://x/mcp", &address);

        assert_eq!(lines.iter().filter(|line| line.contains(token.reveal())).count(), 1);
        assert!(!format!("{shown:?}").contains(token.reveal()));
        assert!(!lines.iter().any(|line| line.starts_with("warning")));
    }

    #[test]
    fn without_a_token_only_this_machine_is_let_in() {
        let read = |address: &str| Shown::read(None, true, &address.parse().unwrap());

        assert!(matches!(read("127.0.0.1:1"), Ok(Shown::Nothing)));
        assert!(read("0.0.0.0:1").unwrap_err().to_string().contains("every machine"));
    }

    #[test]
    fn who_listens_for_other_machines_is_warned() {
        let address = "0.0.0.0:1".parse().unwrap();
        let shown = Shown::read(None, false, &address).unwrap();

        let lines = shown.welcome("server", "http://x/mcp", &address);

        assert!(lines.last().unwrap().contains("plain HTTP"), "{lines:?}");
        let lines = shown.welcome("server", "https://x/mcp", &address);
        assert!(!lines.iter().any(|line| line.contains("plain HTTP")), "{lines:?}");
    }
}
