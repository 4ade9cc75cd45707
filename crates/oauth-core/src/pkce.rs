//! Proof Key for Code Exchange (RFC 7636), with S256 and nothing else.

use sha2::{Digest, Sha256};

use crate::jwt;
use crate::secret::Secret;

/// A verifier, which is kept until the code is exchanged, and its challenge, which is sent first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pkce {
    verifier: Secret,
}

impl Pkce {
    /// Makes a verifier from random bytes, which must come from a source that cannot be guessed.
    pub fn from_random(random: [u8; 32]) -> Self {
        Self { verifier: Secret::new(jwt::encode(&random)) }
    }

    /// Returns the verifier, for the token request.
    pub const fn verifier(&self) -> &Secret {
        &self.verifier
    }

    /// Returns the challenge, for the authorization URL.
    pub fn challenge(&self) -> String {
        jwt::encode(&Sha256::digest(self.verifier.expose().as_bytes()))
    }

    pub(crate) const fn from_verifier(verifier: Secret) -> Self {
        Self { verifier }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7636, appendix B.
    #[test]
    fn a_challenge_is_the_sha_256_of_its_verifier() {
        let random = [
            116, 24, 223, 180, 151, 153, 224, 37, 79, 250, 96, 125, 216, 173, 187, 186, 22, 212,
            37, 77, 105, 214, 191, 240, 91, 88, 5, 88, 83, 132, 141, 121,
        ];

        let pkce = Pkce::from_random(random);

        assert_eq!(pkce.verifier().expose(), "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
        assert_eq!(pkce.challenge(), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }
}
