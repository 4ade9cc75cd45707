//! The request that ends a login, or that pretends to.

use std::fmt;

use super::{PendingLogin, redirect_path};
use crate::address::{HostKind, HttpUrl};
use crate::form;

/// The parameters of a callback. Nothing of them is trusted before the state is right.
#[derive(Clone)]
pub struct Callback {
    parameters: Vec<(String, String)>,
}

impl Callback {
    /// Reads the target of a request to our listener; `None` if it is not for our path.
    pub fn from_target(target: &str, login: &PendingLogin) -> Option<Self> {
        let (path, query) = target.split_once('?')?;
        let is_ours = redirect_path(login.redirect_uri()).as_deref() == Some(path);
        (is_ours && query.len() <= LONGEST).then(|| Self::from_query(query))
    }

    /// Reads the text that a person pasted: the whole URL, or `code=..&state=..` of it.
    pub fn from_pasted(text: &str) -> Option<Self> {
        let text = text.trim().trim_matches(['"', '\'', '<', '>']);
        if text.len() > LONGEST {
            return None;
        }
        let query = text.split_once('?').map_or(text, |(_, query)| query);
        let query = query.split('#').next().unwrap_or_default();
        query.contains('=').then(|| Self::from_query(query))
    }

    /// Returns the value of a parameter that occurs exactly once: of two, other programs may read either.
    pub(super) fn only(&self, name: &str) -> Option<&str> {
        let mut values = self.parameters.iter().filter(|(it, _)| it == name);
        let (_, value) = values.next()?;
        values.next().is_none().then_some(value)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.parameters.iter().any(|(it, _)| it == name)
    }

    fn from_query(query: &str) -> Self {
        Self { parameters: form::read(query) }
    }
}

/// Prints names only: values are codes and states.
impl fmt::Debug for Callback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Callback")?;
        f.debug_set()
            .entries(self.parameters.iter().map(|(name, _)| crate::words::shown(name)))
            .finish()
    }
}

/// Whether a request's `Host` is our listener's.
///
/// A page of another site can make a browser send us a request under that site's name. Both spellings of the
/// loopback address are ours.
pub fn is_own_host(host: &str, login: &PendingLogin) -> bool {
    let Ok(redirect) = HttpUrl::parse(login.redirect_uri()) else { return false };
    let Ok(asked) = HttpUrl::parse(&format!("http://{host}")) else { return false };
    let is_bare = asked.path() == "/" && asked.query().is_none() && !host.contains(['/', '#']);
    is_bare && asked.host_kind() == HostKind::Loopback && asked.port() == redirect.port()
}

/// The most bytes of a callback: codes of some servers are JWTs.
const LONGEST: usize = 64 * 1024;
