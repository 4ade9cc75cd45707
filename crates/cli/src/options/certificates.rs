//! The server certificates that are accepted: `--cacert` adds to those of the system, and `--insecure` turns
//! the check off.
//!
//! An unchecked server may be an impostor, so `--insecure` alone is for this machine; for any other machine
//! the host must be named. It is a flag and nothing else: no file and no variable turns the check off.

use std::fs;
use std::path::PathBuf;

use ridethrough::ClientBuilder;
use ridethrough::transport::Endpoint;
use ridethrough_config::address;
use ridethrough_config::hosts::RemoteServer;
use secrecy::ExposeSecret;

use crate::misuse::Misuse;
use crate::safe;
use crate::server::target::Target;

/// The settings about certificates.
#[derive(Default)]
pub(super) struct Certificates {
    /// The certificates that `cacert` names, in PEM.
    extra: Option<Vec<u8>>,
    /// The host of `--insecure=HOST`; empty if none was named.
    unchecked: Option<String>,
}

impl Certificates {
    pub(super) fn read(cacert: Option<PathBuf>) -> Result<Self, Misuse> {
        let extra = cacert.map(|path| {
            let wrong = |why: &str| unusable(&path.to_string_lossy(), why);
            let pem =
                fs::read(&path).map_err(|error| wrong(&format!("cannot be read: {error}")))?;
            let is_pem = String::from_utf8_lossy(&pem).contains("-----BEGIN CERTIFICATE-----");
            is_pem.then_some(pem).ok_or_else(|| wrong("has no certificate in PEM in it"))
        });
        Ok(Self { extra: extra.transpose()?, unchecked: None })
    }

    pub(super) fn unchecked(self, host: Option<&str>) -> Self {
        Self { unchecked: host.map(str::to_owned), ..self }
    }

    /// Configures a client of this server.
    pub(super) fn apply(
        &self,
        mut builder: ClientBuilder,
        address: &RemoteServer,
    ) -> Result<ClientBuilder, Misuse> {
        if let Some(pem) = &self.extra {
            builder = builder.root_certificates(pem.clone());
        }
        match self.left_unchecked(address)? {
            Some(_) => Ok(builder.danger_accept_any_certificate()),
            None => Ok(builder),
        }
    }

    /// Returns a warning before anything is sent to a server that is not checked.
    pub(super) fn warning(&self, target: &Target) -> Option<String> {
        let endpoint = self.left_unchecked(target.address()?).ok().flatten()?;
        let who = if address::is_this_machine(&endpoint) {
            "any program on this machine that listens there"
        } else {
            "anybody on the way there"
        };
        Some(format!(
            "warning: the certificate of {} is not checked (--insecure): {who} can answer in its place, \
             read everything, tokens too, and change it",
            endpoint.origin()
        ))
    }

    /// Returns the server, if its certificate is not to be checked. Refuses a server that the flag does not
    /// cover.
    fn left_unchecked(&self, address: &RemoteServer) -> Result<Option<Endpoint>, Misuse> {
        let Some(named) = &self.unchecked else { return Ok(None) };
        // A text that is not a URL is refused by the client's builder, with a better message.
        let Ok(endpoint) = Endpoint::parse(address.url.expose_secret()) else { return Ok(None) };
        if !endpoint.is_tls() {
            return Ok(None);
        }
        let host = plain(endpoint.host_to_resolve());
        let is_meant = match plain(named) {
            named if named.is_empty() => address::is_this_machine(&endpoint),
            named => named == host,
        };
        is_meant.then_some(Some(endpoint)).ok_or_else(|| too_far(&host, named))
    }
}

/// Returns a host in the form in which hosts are compared.
fn plain(host: &str) -> String {
    let host = host.trim_start_matches('[').trim_end_matches([']', '.']);
    host.to_ascii_lowercase()
}

fn too_far(host: &str, named: &str) -> Misuse {
    let what = match named {
        "" => format!("`--insecure` alone is for this machine, and `{host}` is another"),
        named => format!("`--insecure={}` is for another host than `{host}`", safe::line(named)),
    };
    Misuse {
        what,
        tried: "the settings were checked; nothing was sent".to_owned(),
        hint: format!(
            "trust the server's certificate with `--cacert FILE`; `--insecure={host}` goes without a \
             check, and then anybody on the way can answer in its place, read everything, tokens too, and \
             change it"
        ),
    }
}

fn unusable(path: &str, why: &str) -> Misuse {
    Misuse {
        what: format!("the file that `cacert` names, `{}`, {why}", safe::line(path)),
        tried: "the settings were read; nothing was sent".to_owned(),
        hint:
            "name a file with certificates in PEM: each begins with `-----BEGIN CERTIFICATE-----`"
                .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_alone_is_for_this_machine_and_a_host_must_be_named() {
        for (flag, url, is_unchecked) in [
            ("", "https://localhost:8443/mcp", Some(true)),
            ("", "https://127.0.0.1/mcp", Some(true)),
            ("", "https://[::1]/mcp", Some(true)),
            ("", "https://example.com/mcp", None),
            ("", "https://localhost.example.com/mcp", None),
            ("", "http://example.com/mcp", Some(false)),
            ("example.com", "https://example.com/mcp", Some(true)),
            ("Example.com.", "https://example.com/mcp", Some(true)),
            ("example.com", "https://api.example.com/mcp", None),
            ("example.com", "https://localhost/mcp", None),
            ("::1", "https://[::1]/mcp", Some(true)),
        ] {
            let certificates = Certificates::default().unchecked(Some(flag));
            let found = certificates.left_unchecked(&address(url));

            assert_eq!(found.map(|it| it.is_some()).ok(), is_unchecked, "{flag} {url}");
        }
        let none = Certificates::default().left_unchecked(&address("https://localhost/mcp"));
        assert!(matches!(none, Ok(None)));
    }

    #[test]
    fn a_refusal_says_what_can_happen_and_names_the_safer_way_first() {
        let certificates = Certificates::default().unchecked(Some(""));

        let refused = certificates.left_unchecked(&address("https://example.com/mcp?key=s3cret"));

        let told = refused.map(|_| ()).unwrap_err().to_string();
        assert!(
            told.contains("hint: trust the server's certificate with `--cacert FILE`"),
            "{told}"
        );
        assert!(told.contains("`--insecure=example.com`"), "{told}");
        assert!(!told.contains("s3cret"), "{told}");
    }

    fn address(url: &str) -> RemoteServer {
        RemoteServer { url: url.into(), ..RemoteServer::default() }
    }
}
