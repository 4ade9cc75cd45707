//! The page of the authorization server, and the callback.

use std::future::pending;

use tokio::time::sleep;

use super::find::Document;
use super::tokens::{TokenQuestion, TokenTrouble};
use super::{REDIRECT_URI, WrongLogin};
use crate::browser;
use crate::form;
use crate::issuer::challenge_of;
use crate::wrong::mistake::Habit;

impl WrongLogin {
    /// Sends the person to the page, and returns the code with what its exchange needs.
    pub(super) async fn authorize(
        &self,
        document: &Document,
        client: &str,
        scope: &str,
    ) -> Result<TokenQuestion, TokenTrouble> {
        let number = self.held().begun;
        let state = format!("state-{number}");
        let verifier = format!("verifier-{number}-of-a-client-that-is-wrong-on-purpose");
        let url = self.page(document, client, [scope, &state, &challenge_of(&verifier)]);
        let location = browser::visit(&url, &self.dial).await.map_err(TokenTrouble::Failed)?;
        let back = location.filter(|it| it.starts_with(REDIRECT_URI));
        let Some(location) = back else { return Err(self.unfinished(&url).await) };
        let (_, said) = form::target(&location);
        let code = self.code(document, &state, &said).map_err(TokenTrouble::Failed)?;
        Ok(TokenQuestion {
            url: document.token.clone(),
            form: vec![
                ("grant_type", "authorization_code".to_owned()),
                ("code", code),
                ("redirect_uri", REDIRECT_URI.to_owned()),
                ("client_id", client.to_owned()),
                ("code_verifier", verifier),
                ("resource", self.resource()),
            ],
        })
    }

    fn page(&self, document: &Document, client: &str, words: [&str; 3]) -> String {
        let [scope, state, challenge] = words;
        let resource = self.resource();
        let mut query = vec![
            ("response_type", "code"),
            ("client_id", client),
            ("redirect_uri", REDIRECT_URI),
            ("scope", scope),
            ("state", state),
            ("code_challenge", challenge),
            ("code_challenge_method", "S256"),
        ];
        if !self.has(Habit::OmitsResource) {
            query.push(("resource", &resource));
        }
        format!("{}?{}", document.authorize, form::encoded(query))
    }

    /// Returns why the person has not come back: the server does not know the client, or the page stays open.
    async fn unfinished(&self, url: &str) -> TokenTrouble {
        let is_unknown = self.get(url).await.is_ok_and(|page| page.status >= 400);
        if is_unknown {
            return TokenTrouble::ClientDead("the server does not know the client".to_owned());
        }
        if self.has(Habit::WaitsForLogin) {
            pending::<()>().await;
        }
        sleep(self.within).await;
        TokenTrouble::Failed("the login was not finished in time".to_owned())
    }

    /// Returns the code, if the callback belongs to this login and comes from its issuer (RFC 9207 2.4).
    fn code(
        &self,
        document: &Document,
        state: &str,
        said: &std::collections::BTreeMap<String, String>,
    ) -> Result<String, String> {
        let word = |name: &str| said.get(name).map(String::as_str);
        if word("state") != Some(state) && !self.has(Habit::IgnoresState) {
            return Err("the callback belongs to another login".to_owned());
        }
        let is_right = match word("iss") {
            Some(iss) => iss == document.issuer,
            None => !document.says_iss,
        };
        if !is_right && !self.has(Habit::IgnoresIss) {
            return Err("the callback does not come from the issuer".to_owned());
        }
        match (word("code"), word("error")) {
            (Some(code), None) => Ok(code.to_owned()),
            (_, error) => Err(format!("the login failed: {}", error.unwrap_or("no code"))),
        }
    }
}
