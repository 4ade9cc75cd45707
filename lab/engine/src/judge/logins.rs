//! Claims about logins: which requests authorization servers got, and where secrets went.

use super::{Case, Which, beyond, shown};
use crate::Entry;
use crate::browser::is_browser;
use crate::form;
use crate::issuer::IssuedSecret;
use crate::scenario::Bounds;
use crate::stage::Account;

impl Case<'_> {
    /// Judges how many times a browser opened the page of an authorization server.
    pub(super) fn logins(&self, bounds: &Bounds) -> Option<String> {
        let is_login = |entry: &&Entry| is_browser(entry) && entry.target.starts_with("/authorize");
        let opened: Vec<_> = self.accounts().flat_map(|it| &it.log).filter(is_login).collect();
        let wrong = beyond(bounds, opened.len() as u64, "logins")?;
        Some(wrong + &shown(&opened))
    }

    /// Judges how many requests showed a secret to a server that it was not made for.
    pub(super) fn leaks(&self, bounds: &Bounds) -> Option<String> {
        let leaks = self.accounts().flat_map(|account| {
            account.log.iter().filter_map(|entry| Some((entry, self.leak(account, entry)?)))
        });
        let leaks: Vec<_> = leaks.collect();
        let wrong = beyond(bounds, leaks.len() as u64, "requests that give a secret away")?;
        let kinds = leaks.first().map(|(_, kind)| format!("; the first shows a {kind}"));
        let requests: Vec<_> = leaks.iter().map(|(entry, _)| *entry).collect();
        Some(wrong + &kinds.unwrap_or_default() + &shown(&requests))
    }

    /// Returns the kind of secret that this request leaks.
    fn leak(&self, account: &Account, entry: &Entry) -> Option<&'static str> {
        let mut text = entry.target.clone();
        for value in entry.headers.values() {
            text += "\n";
            text += &String::from_utf8_lossy(value.as_bytes());
        }
        text += "\n";
        text += &String::from_utf8_lossy(&entry.body);
        let is_main = account.which == Which::Main;
        let given = |it: &&IssuedSecret| it.is_given_away(&text, &account.origin, is_main);
        self.secrets.iter().find(given).map(|secret| secret.kind)
    }

    /// Judges how many refresh tokens were sent that had been sent before.
    pub(super) fn replays(&self, bounds: &Bounds) -> Option<String> {
        let (mut seen, mut again) = (Vec::new(), Vec::new());
        for entry in self.accounts().flat_map(|account| &account.log) {
            let sent = form::parameters(&String::from_utf8_lossy(&entry.body));
            let Some(token) = sent.get("refresh_token").filter(|_| is_refresh(entry)) else {
                continue;
            };
            if seen.contains(token) {
                again.push(entry);
            }
            seen.push(token.clone());
        }
        let wrong = beyond(bounds, again.len() as u64, "refresh tokens were sent again")?;
        Some(wrong + &shown(&again))
    }

    fn accounts(&self) -> impl Iterator<Item = &Account> {
        [&self.main, &self.other, &self.issuer].into_iter()
    }
}

fn is_refresh(entry: &Entry) -> bool {
    entry.target == "/token"
}
