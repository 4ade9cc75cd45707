//! How clients come in over HTTP: the flags that `expose` and `gateway` share. Each sets its own defaults.

use std::path::PathBuf;
use std::time::Duration;

use ridethrough_server::{AccessPolicy, Settings, Tls};

use super::access::misuse;
use super::address::ListenAddress;
use super::voice::Voice;
use crate::choices::DoubtFlags;
use crate::misuse::Misuse;

/// The flags of a command that listens for clients.
#[derive(clap::Args)]
pub(crate) struct HttpFlags {
    /// Where to listen; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS:PORT", overrides_with = "listen")]
    pub(crate) listen: ListenAddress,
    /// The most sessions of clients at once
    #[arg(long, value_name = "N")]
    pub(crate) sessions: u16,
    /// End a session that has had no request and no open stream for so long
    #[arg(long, value_name = "SECONDS", default_value_t = 1800, value_parser = clap::value_parser!(u64).range(1..=604_800))]
    idle: u64,
    /// Clients must show the token that this environment variable holds, in place of ours
    #[arg(long, value_name = "VAR", conflicts_with = "no_token")]
    pub(crate) token_env: Option<String>,
    /// Let every client on this machine in; not with an address that other machines reach
    #[arg(long)]
    pub(crate) no_token: bool,
    /// A name of this machine that clients may use, beside `localhost` and the address
    #[arg(long = "allow-host", value_name = "NAME")]
    hosts: Vec<String>,
    /// An origin whose pages may call from a browser, beside those of this machine
    #[arg(long = "allow-origin", value_name = "ORIGIN")]
    origins: Vec<String>,
    /// Speak TLS with this certificate chain, in PEM; it is read again when it changes
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The private key of the certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) doubt: DoubtFlags,
}

impl HttpFlags {
    /// Returns the certificate to show; `None` without TLS.
    pub(crate) fn tls(&self, voice: &Voice) -> Result<Option<Tls>, Misuse> {
        let (Some(certificate), Some(key)) = (&self.tls_cert, &self.tls_key) else {
            return Ok(None);
        };
        let teller = voice.clone();
        let tell = move |error| teller.tell(&format!("{error}; the old certificate stays in use"));
        let tls = Tls::from_files(certificate, key, tell).map_err(|error| {
            let hint = "both files are PEM: the chain of the certificate, and its private key";
            misuse(&error.to_string(), hint)
        })?;
        Ok(Some(tls))
    }

    /// Returns the policy with the names and origins that are allowed. One that could never match is wrong
    /// usage.
    pub(crate) fn allowed(&self, mut access: AccessPolicy) -> Result<AccessPolicy, Misuse> {
        for host in &self.hosts {
            access = access.allow_host(host).map_err(|error| {
                let what = format!("no client can come by a name of `--allow-host`: {error}");
                misuse(&what, "write it as `--allow-host box.local`")
            })?;
        }
        for origin in &self.origins {
            access = access.allow_origin(origin).map_err(|error| {
                let what = format!("no page can come from an origin of `--allow-origin`: {error}");
                misuse(&what, "write it as `--allow-origin https://app.example.com`")
            })?;
        }
        Ok(access)
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings::default()
            .sessions(self.sessions.into())
            .idle(Duration::from_secs(self.idle))
            .doubt(self.doubt.form().unwrap_or_default())
            .doubt_repeat(self.doubt.repeat().unwrap_or_default())
    }

    /// Returns where a client on this machine finds the server.
    pub(crate) fn url(&self, port: u16) -> String {
        let scheme = if self.tls_cert.is_some() { "https" } else { "http" };
        self.listen.url(scheme, port)
    }
}
