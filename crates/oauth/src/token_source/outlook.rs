//! A login as far as it goes without a person, and one with what the server asked for.

use ridethrough::credentials::Challenge;

use super::{TokenSource, answer};
use crate::login::{BegunBy, Login, LoginOutlook};

impl TokenSource {
    /// Takes down what the MCP server asked for.
    pub(crate) fn challenged(&self, challenge: &Challenge) {
        self.memory().challenges = answer::read(challenge);
    }

    /// What a login would do: with this challenge, or else with the one that a call was last refused with.
    pub(crate) async fn outlook(&self, challenge: Option<&Challenge>) -> LoginOutlook {
        self.remember_store().await;
        let (known, recorded) = self.memory().for_login();
        let challenges = challenge.map_or(known, answer::read);
        let context = self.context.clone();
        let login =
            Login { context, challenges, scopes: None, recorded, begun_by: BegunBy::Person };
        login.outlook().await
    }
}
