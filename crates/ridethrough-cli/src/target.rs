//! Which server is meant by the word that a person typed.

use std::fmt;

use ridethrough::{Client, ClientBuilder, Endpoint};

use crate::misuse::Misuse;

/// A server that a client can be made for. It prints without the URL's query, where people put keys.
#[derive(Clone)]
pub(crate) struct Target {
    url: String,
    endpoint: Endpoint,
}

/// Finds the server: a URL is taken as it is.
pub(crate) fn resolve(word: &str) -> Result<Target, Misuse> {
    match Endpoint::parse(word) {
        Ok(endpoint) => Ok(Target { url: word.to_owned(), endpoint }),
        Err(error) => Err(Misuse {
            // The word itself may hold a password.
            what: format!("the server's address cannot be used: it {error}"),
            tried: "it was read as a URL; nothing was sent".to_owned(),
            hint: "give a URL such as `https://example.com/mcp`".to_owned(),
        }),
    }
}

impl Target {
    /// Begins a client of this server.
    pub(crate) fn client(&self) -> ClientBuilder {
        Client::builder(&self.url)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.endpoint.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_url_is_refused_without_being_repeated() {
        let refused = |word| resolve(word).map(|_| ()).unwrap_err().to_string();

        assert!(refused("http://me:s3cret@example.com/").contains("must not carry a name"));
        assert!(!refused("http://me:s3cret@example.com/").contains("s3cret"));
        assert!(refused("github").contains("must begin with http:// or https://"));
    }

    #[test]
    fn a_target_prints_without_its_query() {
        let target = resolve("https://example.com/mcp?key=s3cret").unwrap();

        assert_eq!(target.to_string(), "https://example.com/mcp");
    }
}
