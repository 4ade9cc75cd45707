//! Decides whether tokens are bound to a key.

/// When tokens are bound to a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DpopRule {
    /// At every login. A server without DPoP issues tokens that are bound to no key, and those are used.
    Always,
    /// Where the MCP server asks for it, and its authorization server supports it. The default: an MCP server
    /// that does not ask may not accept such tokens, whatever its authorization server says of itself.
    #[default]
    IfAsked,
    /// Tokens are never bound to a key.
    Never,
}

/// The facts that are known when a login begins.
#[derive(Clone, Copy, Debug)]
pub struct DpopFacts<'a> {
    /// Whether the MCP server has challenged us in the scheme `DPoP`.
    pub is_challenged: bool,
    /// Whether the MCP server has challenged us in the scheme `Bearer`, too.
    pub takes_bearer: bool,
    /// Whether the MCP server's metadata says that it accepts only bound tokens.
    pub is_required: bool,
    /// The algorithms that the authorization server lists, if it does.
    pub algorithms: Option<&'a [String]>,
}

impl DpopRule {
    /// Whether to ask for tokens that are bound to a key of P-256.
    pub fn is_wanted(self, facts: DpopFacts<'_>) -> bool {
        let is_known = facts.algorithms.map(|list| list.iter().any(|it| it == "ES256"));
        let is_asked = facts.is_challenged || facts.is_required;
        match self {
            Self::Always => true,
            Self::Never => false,
            // If the authorization server does not say, a bearer token is the safer guess where it is
            // accepted.
            Self::IfAsked => is_asked && is_known.unwrap_or(!facts.takes_bearer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_bound_where_the_server_asks_and_its_issuer_can() {
        let (es256, other) = (["ES256".to_owned()], ["RS256".to_owned()]);
        let wanted = |is_challenged, takes_bearer, is_required, algorithms| {
            let facts = DpopFacts { is_challenged, takes_bearer, is_required, algorithms };
            DpopRule::IfAsked.is_wanted(facts)
        };

        assert!(wanted(true, false, false, Some(&es256)));
        assert!(wanted(true, true, false, Some(&es256)));
        assert!(wanted(false, true, true, Some(&es256)));
        assert!(wanted(true, false, false, None));
        assert!(!wanted(true, true, false, None));
        assert!(!wanted(true, false, false, Some(&other)));
    }

    /// Many issuers list algorithms for servers that do not know bound tokens.
    #[test]
    fn an_issuer_that_can_is_not_enough() {
        let es256 = ["ES256".to_owned()];
        let facts = DpopFacts {
            is_challenged: false,
            takes_bearer: true,
            is_required: false,
            algorithms: Some(&es256),
        };

        assert!(!DpopRule::IfAsked.is_wanted(facts));
        assert!(DpopRule::Always.is_wanted(facts));
        assert!(!DpopRule::Never.is_wanted(DpopFacts { is_required: true, ..facts }));
    }
}
