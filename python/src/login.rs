//! Logins by the library's own OAuth: what may be set about one, and the function that logs a person in.

use std::time::Duration;

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use ridethrough::{Client, ClientBuilder};
use ridethrough_oauth::person::{Browser, Terminal};
use ridethrough_oauth::store::FileStore;
use ridethrough_oauth::{KeepClient, OAuth, RedirectTo, Secret, Status};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::call_options::seconds;
use crate::runtime;

/// A login as Python describes it.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OAuthSettings {
    name: String,
    client_id: Option<String>,
    client_secret: Option<String>,
    client_metadata_url: Option<String>,
    scopes: Option<Vec<String>>,
    profile: Option<String>,
    /// The port that the browser comes back to.
    port: Option<u16>,
    /// Whether the person logs in on another device.
    #[serde(default)]
    device: bool,
    /// The folder of the logins, if it is not the one that all programs share.
    folder: Option<String>,
    /// Seconds.
    login_within: Option<f64>,
    /// Whether a call that needs a login begins one.
    #[serde(default)]
    asks_person: bool,
}

impl OAuthSettings {
    pub(crate) fn read(self) -> OAuth {
        let mut oauth = OAuth::new(self.name);
        if let Some(id) = self.client_id {
            oauth = oauth.client_id(id);
        }
        if let Some(secret) = self.client_secret {
            oauth = oauth.client_secret(Secret::new(secret));
        }
        if let Some(url) = self.client_metadata_url {
            oauth = oauth.client_metadata_url(url);
        }
        if let Some(scopes) = &self.scopes {
            oauth = oauth.scopes(scopes.iter().map(String::as_str));
        }
        if let Some(profile) = self.profile {
            oauth = oauth.profile(profile);
        }
        if self.port.is_some() {
            oauth = oauth.redirect(RedirectTo { port: self.port, ..RedirectTo::default() });
        }
        if let Some(folder) = self.folder {
            oauth = oauth.store(FileStore::at(folder));
        }
        if let Some(time) = self.login_within.and_then(seconds) {
            oauth = oauth.login_within(time);
        }
        if self.device {
            oauth = oauth.device();
        }
        match (self.asks_person, self.device) {
            (false, _) => oauth,
            (true, false) => oauth.person(Browser::new()),
            (true, true) => oauth.person(Terminal::new()),
        }
    }
}

/// What a login is made at.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LoginSettings {
    url: String,
    root_certificates: Option<String>,
    oauth: OAuthSettings,
}

impl LoginSettings {
    fn read(settings: &[u8]) -> PyResult<(ClientBuilder, OAuth)> {
        let settings: Self = serde_json::from_slice(settings).map_err(invalid)?;
        let mut builder = Client::builder(&settings.url);
        if let Some(pem) = settings.root_certificates {
            builder = builder.root_certificates(pem);
        }
        Ok((builder, settings.oauth.read()))
    }
}

/// Logs a person in, and waits for it. Returns how the login stands, or why there is none.
#[pyfunction]
pub(crate) fn log_in<'py>(python: Python<'py>, settings: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let (builder, oauth) = LoginSettings::read(settings)?;
    let account = oauth.account(&builder).map_err(invalid)?;
    perform(python, async move {
        match account.log_in().await {
            Ok(status) => told(&status),
            Err(error) => json!({ "error": with_causes(&error) }),
        }
    })
}

/// Logs out: the tokens are revoked where the server can do that, and forgotten.
#[pyfunction]
pub(crate) fn log_out<'py>(python: Python<'py>, settings: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let (builder, oauth) = LoginSettings::read(settings)?;
    let account = oauth.account(&builder).map_err(invalid)?;
    perform(python, async move {
        match account.log_out(KeepClient::Yes).await {
            Ok(_) => json!({}),
            Err(error) => json!({ "error": with_causes(&error) }),
        }
    })
}

/// Waits for work without Python's lock, and ends it when a signal's handler raises.
fn perform<'py>(
    python: Python<'py>,
    work: impl Future<Output = Value> + Send + 'static,
) -> PyResult<Bound<'py, PyBytes>> {
    let runtime = runtime::handle().map_err(PyOSError::new_err)?;
    let mut working = runtime.spawn(work);
    loop {
        // The clock of the timeout is the runtime's, so it is made inside.
        let waiting = async { timeout(SIGNALS_EVERY, &mut working).await };
        let waited = python.detach(|| runtime.block_on(waiting));
        if let Ok(ended) = waited {
            let ended = ended.map_err(|error| PyOSError::new_err(error.to_string()))?;
            return Ok(PyBytes::new(python, ended.to_string().as_bytes()));
        }
        python.check_signals().inspect_err(|_| working.abort())?;
    }
}

fn told(status: &Status) -> Value {
    json!({
        "issuer": status.issuer,
        "scopes": status.scopes.to_text(),
        "expiresAt": status.expires_at.map(|at| at.unix_secs()),
        "isRefreshable": status.is_refreshable,
    })
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |words, cause| format!("{words}: {cause}"))
}

fn invalid(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// How often a signal is looked for.
const SIGNALS_EVERY: Duration = Duration::from_millis(100);
