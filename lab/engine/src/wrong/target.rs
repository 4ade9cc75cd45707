//! The addresses of servers.

/// The address that requests go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) authority: String,
    pub(super) path: String,
}

impl Target {
    /// Returns the target of this URL, relative to the present one if need be.
    pub(super) fn of(url: &str, here: Option<&Self>) -> Option<Self> {
        if url.starts_with('/') {
            return here.map(|here| Self { path: url.to_owned(), ..here.clone() });
        }
        let rest = url.strip_prefix("http://")?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        Some(Self { authority: authority.to_owned(), path: format!("/{path}") })
    }
}
