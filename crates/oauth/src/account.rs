//! A person's account at an MCP server: logs in, logs out, and shows its status.

use std::fmt;
use std::sync::Arc;

use ridethrough::ClientBuilder;
use ridethrough::credentials::{Challenge, Credentials, NoCredentials, Refused, Token};
use ridethrough::transport::BoxFuture;
use ridethrough_oauth_core::Fetched;
use ridethrough_oauth_core::client::ClientKind;
use ridethrough_oauth_core::scope::ScopeSet;
use ridethrough_oauth_core::store::{GrantRecord, GrantStatus};
use ridethrough_oauth_core::token_answer;
use ridethrough_oauth_core::{Secret, Timestamp};

use crate::context::Context;
use crate::error::{LoginFailure, SettingsError, with_causes};
use crate::login::LoginOutlook;
use crate::login_watch::LoginWatch;
use crate::person::Person;
use crate::settings::OAuth;
use crate::store::StoreError;
use crate::token_source::TokenSource;

/// An account at an MCP server, made by [`OAuth::account`](crate::OAuth::account).
///
/// It serves as the credentials of a client. Clones are one account.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use ridethrough::Client;
/// use ridethrough_oauth::OAuth;
/// use ridethrough_oauth::person::Browser;
///
/// let builder = Client::builder("https://example.com/mcp");
/// let account = OAuth::new("my app").person(Browser::new()).account(&builder)?;
/// println!("{}", account.log_in().await?);
/// let client = builder.credentials(account).build()?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Account {
    tokens: Arc<TokenSource>,
}

impl OAuth {
    /// Makes the account at the server of this client: to log in, to log out, to see its status, and to be
    /// the client's credentials.
    pub fn account(self, client: &ClientBuilder) -> Result<Account, SettingsError> {
        Ok(Account { tokens: TokenSource::new(Context::new(self, client)?) })
    }
}

impl Account {
    /// Logs in, whether or not that is needed. Dropping the future ends the login.
    pub async fn log_in(&self) -> Result<Status, LoginFailure> {
        let record = self.tokens.log_in().await?;
        Ok(Status::of(Some(&record), self.tokens.context().now()))
    }

    /// Logs in with the challenge by which the server refused a request: it may name the metadata and the
    /// scopes.
    pub async fn log_in_for(&self, challenge: &Challenge) -> Result<Status, LoginFailure> {
        self.tokens.challenged(challenge);
        self.log_in().await
    }

    /// Finds out what a login would do: looks for the authorization server, and registers nothing. Without a
    /// challenge, the one counts by which a call was last refused, if there is any.
    pub async fn outlook(&self, challenge: Option<&Challenge>) -> LoginOutlook {
        self.tokens.outlook(challenge).await
    }

    /// Waits until no refresh is under way.
    ///
    /// A refresh goes on although the call that began it has ended. A program that ends its runtime waits for
    /// this first: a refresh token that was sent is worth nothing any more, and its successor must be stored.
    pub async fn work_ended(&self) {
        self.tokens.work_ended().await;
    }

    /// Logs in by this person because a call needs it, in place of the person that the account is set to.
    /// Dropping the future ends the login.
    ///
    /// One login runs at a time. Unlike [`log_in`](Self::log_in), it does not trust an authorization server
    /// that has moved its endpoints. It begins no login within a minute of one that the person did not
    /// finish, or that brought a token which the server refuses.
    pub async fn log_in_by(&self, person: &dyn Person) -> Result<Status, LoginFailure> {
        let record = self.tokens.log_in_by(person).await?;
        Ok(Status::of(Some(&record), self.tokens.context().now()))
    }

    /// Logs in by this person for the scopes that a call lacked, and those that were granted before
    /// ([`wanted_scope`](Self::wanted_scope)). Dropping the future ends the login, and a login of another process
    /// that brings these scopes does, too.
    pub async fn step_up_by(&self, person: &dyn Person) -> Result<Status, LoginFailure> {
        let record = self.tokens.step_up_by(person).await?;
        Ok(Status::of(Some(&record), self.tokens.context().now()))
    }

    /// Follows whether a person must log in, here or in another process.
    ///
    /// A program in the background has no [`Person`]: its calls end with an error, and this says when they
    /// are worth another try.
    ///
    /// ```
    /// # async fn example(account: ridethrough_oauth::Account) {
    /// use ridethrough_oauth::LoginState;
    ///
    /// let mut watch = account.watch();
    /// while let LoginState::Needed(why) = watch.state() {
    ///     eprintln!("log in: {why}");
    ///     watch.changed().await;
    /// }
    /// # }
    /// ```
    pub fn watch(&self) -> LoginWatch {
        LoginWatch::new(self.tokens.clone())
    }

    /// Looks at once whether another process has logged in or out, which [`watch`](Self::watch) does from time to
    /// time.
    pub async fn look_at_store(&self) {
        self.tokens.look_at_store().await;
    }

    /// Returns the scopes that a call lacked and that no person could be asked for, separated by spaces. A
    /// login with these grants what was granted before, too. `None` after the next login.
    pub fn wanted_scope(&self) -> Option<String> {
        self.tokens.wanted_scope()
    }

    /// Returns the access tokens that were given out last, so that a program can mask them in the words of a
    /// server.
    pub fn tokens_in_use(&self) -> Vec<Secret> {
        self.tokens.tokens_in_use()
    }

    /// Notes that the server accepts the current token, though a call found that a person must log in.
    ///
    /// Servers have faults that look like refusals. Without this note, the token would not be renewed when it
    /// ends.
    pub fn token_accepted(&self) {
        self.tokens.token_accepted();
    }

    /// Returns the status of the account, from what is stored. No request is sent.
    pub async fn status(&self) -> Result<Status, StoreError> {
        let context = self.tokens.context();
        let record = context.store.load(&context.account).await?;
        Ok(Status::of(record.as_ref(), context.now()))
    }

    /// Revokes the tokens where the server supports that, and deletes them in any case.
    pub async fn log_out(&self, keep_client: KeepClient) -> Result<LoggedOut, StoreError> {
        let context = self.tokens.context();
        let lock = context.store.lock(&context.account).await?;
        let Some(record) = context.store.load(&context.account).await? else {
            return Ok(LoggedOut::NobodyWasLoggedIn);
        };
        let is_kept = keep_client == KeepClient::Yes && record.client.kind == ClientKind::Dynamic;
        let had_tokens = record.tokens.is_some();
        if !had_tokens && is_kept {
            return Ok(LoggedOut::NobodyWasLoggedIn);
        }
        let not_revoked = revoke(context, &record).await.err();
        let mut rest = record.clone();
        rest.tokens = None;
        rest.end = None;
        let rest = is_kept.then_some(rest);
        // Under the lock only another program can change it, and then the record is not ours to delete.
        context.store.compare_and_swap(&lock, Some(&record), rest.as_ref()).await?;
        self.tokens.forget();
        Ok(if had_tokens { LoggedOut::Done { not_revoked } } else { LoggedOut::NobodyWasLoggedIn })
    }
}

impl Credentials for Account {
    fn token<'a>(
        &'a self,
        refused: Option<Refused<'a>>,
    ) -> BoxFuture<'a, Result<Option<Token>, NoCredentials>> {
        Box::pin(async move {
            match refused {
                None => self.tokens.first_token().await,
                Some(refused) => self.tokens.better_token(refused).await,
            }
        })
    }

    fn renewed(&self) -> BoxFuture<'_, Token> {
        Box::pin(self.tokens.renewed())
    }

    fn finish(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.tokens.work_ended())
    }
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let account = &self.tokens.context().account;
        f.debug_struct("Account").field("account", account).finish_non_exhaustive()
    }
}

/// Whether a client that registered itself is kept for the next login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepClient {
    /// The client is deleted with the tokens.
    No,
    /// The client is kept.
    Yes,
}

/// The outcome of a logout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoggedOut {
    /// The tokens are deleted.
    Done {
        /// Why the tokens were not revoked, if they were not: they may be valid until they end.
        not_revoked: Option<String>,
    },
    /// There was nothing to delete.
    NobodyWasLoggedIn,
}

/// The status of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// The status in a word.
    pub status: GrantStatus,
    /// The issuer of the login.
    pub issuer: Option<String>,
    /// How the client became known to the issuer.
    pub client: Option<ClientKind>,
    /// The scopes that were granted, or requested where the server does not say.
    pub scopes: ScopeSet,
    /// When the access token ends.
    pub expires_at: Option<Timestamp>,
    /// Whether the access token can be renewed without a person.
    pub is_refreshable: bool,
}

impl Status {
    /// Returns the status of the grant of this record; `None` means no record.
    pub fn of(record: Option<&GrantRecord>, now: Timestamp) -> Self {
        let tokens = record.and_then(|record| record.tokens.as_ref());
        let granted = tokens.and_then(|tokens| tokens.scope.as_deref()).map(ScopeSet::from_text);
        let requested = || record.map(|record| record.requested.clone()).unwrap_or_default();
        let is_ended = record.is_some_and(|record| record.end.is_some());
        Self {
            status: GrantStatus::of(record, now),
            issuer: record.map(|record| record.endpoints.issuer().to_owned()),
            client: record.map(|record| record.client.kind),
            scopes: granted.unwrap_or_else(requested),
            expires_at: tokens.and_then(|tokens| tokens.expires_at),
            is_refreshable: !is_ended && tokens.is_some_and(|tokens| tokens.refresh.is_some()),
        }
    }
}

/// Prints one line, for people.
impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.status)?;
        if let Some(issuer) = &self.issuer {
            write!(f, ": {issuer}")?;
        }
        if let Some(scopes) = self.scopes.to_text() {
            write!(f, ", scopes {scopes}")?;
        }
        if self.is_refreshable {
            f.write_str(", refreshable")?;
        }
        Ok(())
    }
}

/// Revokes the refresh token first: with it, many servers end the access token, too.
async fn revoke(context: &Context, record: &GrantRecord) -> Result<(), String> {
    let Some(tokens) = &record.tokens else { return Ok(()) };
    context.fetch.allow_near_for(record);
    let server = record.server().map_err(|error| with_causes(&error))?;
    let requests =
        context.requests(&server, &record.client).map_err(|error| with_causes(&error))?;
    let none = || "the authorization server knows no way to revoke tokens".to_owned();
    let refresh = tokens.refresh.as_ref().map(|it: &Secret| requests.revoke_refresh_token(it));
    let access = Some(requests.revoke_access_token(&tokens.access));
    for request in [refresh, access].into_iter().flatten() {
        let request = request.ok_or_else(none)?;
        match context.fetch.post(&request).await {
            Fetched::Answer(answer) => {
                token_answer::read_revocation(&answer).map_err(|error| with_causes(&error))?;
            }
            Fetched::Failure(why) => return Err(why),
        }
    }
    Ok(())
}
