//! The result of a login, for people and for machines. It contains no tokens.

use ridethrough_check::GrantShown;
use ridethrough_oauth::Status;
use ridethrough_oauth::store::FileStore;
use serde::Serialize;

use crate::options::Settings;
use crate::safe;
use crate::server::target::Target;

/// The result of a login.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LoginTold {
    /// The server as it can be typed.
    server: String,
    url: String,
    /// Whether the person is logged in.
    is_logged_in: bool,
    /// Whether the server asks for a login at all.
    is_login_asked_for: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    grant: Option<GrantShown>,
    /// What the server answered to the new token.
    #[serde(skip_serializing_if = "Option::is_none")]
    proof: Option<Proof>,
}

/// The proof that the server accepts the token.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Proof {
    pub(crate) server: Option<String>,
    pub(crate) revision: &'static str,
    /// How many tools the server lists; `None`, if it has no list.
    pub(crate) tools: Option<usize>,
}

impl LoginTold {
    pub(crate) fn not_asked_for(target: &Target) -> Self {
        Self { is_login_asked_for: false, is_logged_in: false, ..Self::begun(target) }
    }

    pub(crate) fn done(target: &Target, status: &Status, settings: &Settings) -> Self {
        let profile = target.address().map(|address| settings.oauth_at(address).profile);
        let profile = profile.flatten().unwrap_or_default();
        Self { grant: Some(GrantShown::of(status, profile)), ..Self::begun(target) }
    }

    pub(crate) fn proven(self, proof: Proof) -> Self {
        Self { proof: Some(proof), ..self }
    }

    fn begun(target: &Target) -> Self {
        Self {
            server: target.word(),
            url: target.to_string(),
            is_logged_in: true,
            is_login_asked_for: true,
            grant: None,
            proof: None,
        }
    }

    pub(crate) fn json(&self) -> String {
        serde_json::to_string(self).expect("numbers and strings are JSON")
    }

    /// Returns the lines for a person as soon as they are logged in.
    pub(crate) fn lines(&self) -> Vec<String> {
        let Some(grant) = &self.grant else { return Vec::new() };
        let who = grant.who();
        let issuer = grant.issuer.as_deref().unwrap_or("nobody");
        let mut lines = vec![format!(
            "logged in to {}{who}: issued by {issuer}, {}",
            self.server,
            grant.words()
        )];
        if let Ok(store) = FileStore::new() {
            let folder = store.folder().display();
            lines.push(format!("kept in {folder}, which only you can read"));
        }
        lines.iter().map(|line| safe::our_line(line)).collect()
    }

    /// Returns the lines at the end of the command.
    pub(crate) fn last_lines(&self) -> Vec<String> {
        if !self.is_login_asked_for {
            return vec![safe::our_line(&format!(
                "{} asks for no login: nothing was opened and nothing is kept",
                self.server
            ))];
        }
        let Some(Proof { server, revision, tools }) = &self.proof else { return Vec::new() };
        let name = server.as_deref().unwrap_or("a server without a name");
        let tools =
            tools.map(|count| format!(", {count} tool{}", if count == 1 { "" } else { "s" }));
        let name = safe::line(name);
        vec![format!("the server takes it: {name} speaks {revision}{}", tools.unwrap_or_default())]
    }
}
