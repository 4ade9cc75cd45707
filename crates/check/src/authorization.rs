//! How people log in to a server, what a login would do, and what it would refuse.
//!
//! Examined where the server asks for a token or a login is stored, and no token is configured. Documents are
//! read and nothing is registered; tokens are never shown.

use ridethrough::credentials::Challenge;
use ridethrough_oauth::{Account, ClientOutlook, GrantStatus, LoginOutlook, RedirectTo};
use ridethrough_oauth_core::HttpUrl;
use ridethrough_oauth_core::client::ClientKind;
use ridethrough_oauth_core::discovery::{DiscoveryError, Found};
use ridethrough_oauth_core::metadata::{AuthorizationServer, MetadataSource};
use ridethrough_terminal::secrets::{cut, masked};

use crate::authorization_seen::{AuthorizationSeen, allowing, client_kinds, redirect_words};
use crate::finding::{Finding, Subject};
use crate::grant::GrantShown;
use crate::notes::Notes;

/// The examination of one server's login.
pub struct AuthorizationCheck<'a> {
    /// The account whose login it is.
    pub account: &'a Account,
    /// The command that logs in to the server, with these flags more.
    pub log_in: &'a dyn Fn(&str) -> String,
    /// Where the browser would come back to.
    pub redirect: RedirectTo,
    /// The person's name for the account.
    pub profile: String,
}

impl AuthorizationCheck<'_> {
    /// Examines the login, if the server asks for one or one is stored.
    pub async fn look(self, is_asked_for: bool, notes: &mut Notes) {
        let status = self.account.status().await.ok();
        let stored = status.filter(|it| it.status != GrantStatus::NoAuth);
        if !is_asked_for && stored.is_none() {
            return;
        }
        let challenge = notes.challenge.take().map(|header| {
            let mut challenge = Challenge::credentials();
            challenge.header = header.into();
            challenge
        });
        let outlook = self.account.outlook(challenge.as_ref()).await;
        let mut seen = AuthorizationSeen::of(&outlook, &self.redirect);
        if let Some(status) = &stored {
            let grant = GrantShown::of(status, self.profile.clone());
            notes.add(stored_login(&grant, status.status, self.log_in));
            seen.stored_login = Some(grant);
        }
        match &outlook.found {
            Ok(found) => self.tell(found, &outlook, notes),
            Err(error) => notes.add(refused(error, self.log_in)),
        }
        notes.authorization = Some(seen);
    }

    fn tell(&self, found: &Found, outlook: &LoginOutlook, notes: &mut Notes) {
        notes.add(resource(found, outlook));
        notes.add(issuer(found, outlook));
        notes.add(kinds(&found.server));
        notes.add(abilities(&found.server));
        for quirk in quirks(found) {
            notes.add(Subject::Authorization.note("quirk", quirk));
        }
        notes.add(self.login(outlook));
    }

    /// Returns the finding about what a login would do.
    fn login(&self, outlook: &LoginOutlook) -> Finding {
        let scopes = match outlook.scopes.to_text() {
            Some(scopes) => format!("asks for the scopes `{}`", cut(&scopes)),
            None => "asks for no scope by name".to_owned(),
        };
        let back = redirect_words(&self.redirect);
        let log_in = (self.log_in)("");
        let client = match &outlook.client {
            Some(ClientOutlook::Known(kind)) => known(*kind),
            Some(ClientOutlook::Registers) => "registers a client of its own",
            Some(ClientOutlook::OtherIssuer(why)) => {
                let what = format!("a login would fail: {}", cut(why));
                let flags = (self.log_in)("--client-id ID");
                return Subject::Authorization
                    .bad("login", what)
                    .advise(format!("name a client of this issuer: `{flags}`"));
            }
            _ => {
                let flags = (self.log_in)("--client-id ID --callback-port 8765");
                let what = "a login would fail: clients register by hand only, and none is named";
                return Subject::Authorization.bad("login", what).advise(format!(
                    "register a client there with the redirect URI `http://127.0.0.1:8765/callback`, then `{flags}`"
                ));
            }
        };
        let what = format!("a login {client}, {scopes}, and lets the browser come back to {back}");
        let is_guess = |found: &Found| found.server.source == MetadataSource::DefaultPaths;
        if outlook.found.as_ref().is_ok_and(is_guess) {
            return Subject::Authorization
                .note("login", format!("{what}, if there is one at all"))
                .advise(format!(
                    "`{log_in}` tries to log in; a server that wants an API key knows no login"
                ));
        }
        Subject::Authorization.good("login", what).advise(format!("`{log_in}` logs you in"))
    }
}

fn stored_login(
    grant: &GrantShown,
    status: GrantStatus,
    log_in: &dyn Fn(&str) -> String,
) -> Finding {
    let what =
        format!("a login of yours is stored here: {}, {}", grant.status, cut(&grant.words()));
    match status {
        GrantStatus::ClientDead | GrantStatus::LoginNeeded => Subject::Authorization
            .warning("stored", what)
            .advise(format!("`{}` logs you in", log_in(""))),
        _ => Subject::Authorization.good("stored", what),
    }
}

fn resource(found: &Found, outlook: &LoginOutlook) -> Finding {
    let Some(metadata) = &found.metadata else {
        return Subject::Authorization.warning(
            "resource",
            "publishes no metadata of a protected resource (RFC 9728), as servers before 2025-06-18: the \
             authorization server is looked for at the server's own address",
        );
    };
    let place = outlook.asked.iter().find(|(url, answer)| {
        answer == "200" && (url.contains("protected-resource") || !url.contains("/.well-known/"))
    });
    let place = place.map(|(url, _)| format!(" at `{}`", cut(url))).unwrap_or_default();
    let scopes = match metadata.scopes_supported.as_deref() {
        None => "and names no scopes".to_owned(),
        Some([]) => "and says that no scope is needed".to_owned(),
        Some(scopes) => format!("and names the scopes `{}`", cut(&scopes.join(" "))),
    };
    let issuers: Vec<_> =
        metadata.authorization_servers.iter().map(|it| format!("`{}`", cut(it))).collect();
    Subject::Authorization.good(
        "resource",
        format!(
            "its metadata{place} is for the resource `{}`, trusts {} {scopes}",
            cut(&metadata.resource),
            issuers.join(", ")
        ),
    )
}

fn issuer(found: &Found, outlook: &LoginOutlook) -> Finding {
    let server = &found.server;
    let authorize = server.authorization_endpoint.as_ref();
    let authorize =
        authorize.map_or("nowhere".to_owned(), |it| format!("`{}`", cut(&it.to_string())));
    let token = cut(&server.token_endpoint.to_string());
    let ends = format!("people log in at {authorize}, tokens come from `{token}`");
    let issuer = cut(&server.issuer);
    if server.source == MetadataSource::DefaultPaths {
        let what = format!(
            "no metadata of an authorization server: the default paths of 2025-03-26 are taken; {ends}"
        );
        return Subject::Authorization
            .warning("issuer", what)
            .advise("let the server publish its metadata (RFC 9728 and RFC 8414)");
    }
    let place = outlook.asked.last().map(|(url, _)| format!(", described at `{}`", cut(url)));
    let what =
        format!("the authorization server is `{issuer}`{}; {ends}", place.unwrap_or_default());
    Subject::Authorization.good("issuer", what)
}

fn kinds(server: &AuthorizationServer) -> Finding {
    let kinds: Vec<_> = client_kinds(server)
        .into_iter()
        .map(|kind| match kind {
            "registers-itself" => "register themselves",
            "metadata-document" => "name the URL of their metadata as their id",
            _ => "are registered by hand",
        })
        .collect();
    Subject::Authorization.note("clients", format!("clients {}", kinds.join(", or ")))
}

fn abilities(server: &AuthorizationServer) -> Finding {
    let methods = server.code_challenge_methods_supported.as_deref();
    let has_s256 = methods.is_some_and(|it| it.iter().any(|it| it == "S256"));
    let grants = server.grant_types_supported.as_deref();
    let has_refresh = grants.is_none_or(|it| it.iter().any(|it| it == "refresh_token"));
    let dpop = server.dpop_signing_alg_values_supported.is_some();
    let all = [
        ("PKCE with S256", has_s256),
        ("refresh tokens", has_refresh),
        ("revocation", server.revocation_endpoint.is_some()),
        ("device codes", server.device_authorization_endpoint.is_some()),
        ("DPoP", dpop),
        ("its name in callbacks (`iss`)", server.sends_issuer),
    ];
    let listed = |is_known: bool| {
        let those = all.iter().filter(|(_, it)| *it == is_known).map(|(name, _)| *name);
        those.collect::<Vec<_>>().join(", ")
    };
    let (known, unknown) = (listed(true), listed(false));
    let what = match (known.is_empty(), unknown.is_empty()) {
        (true, _) => format!("does not say that it knows {unknown}"),
        (_, true) => format!("knows {known}"),
        _ => format!("knows {known}; does not speak of {unknown}"),
    };
    Subject::Authorization.note("abilities", what)
}

/// Returns differences from most servers, and what is done about each.
fn quirks(found: &Found) -> Vec<String> {
    let server = &found.server;
    let mut quirks = Vec::new();
    if let Some(metadata) = &found.metadata {
        let listed = &metadata.authorization_servers;
        let slashed = format!("{}/", server.issuer);
        if !listed.contains(&server.issuer) && listed.contains(&slashed) {
            quirks.push("names its issuer with a slash at the end that the issuer's own document lacks: accepted".to_owned());
        } else if !listed.contains(&server.issuer) {
            quirks.push(format!(
                "the issuer calls itself `{}`, which is trusted because you said so",
                cut(&server.issuer)
            ));
        }
        if listed.len() > 1 {
            quirks.push(format!(
                "trusts {} issuers: the first that can be used is taken",
                listed.len()
            ));
        }
        let host = |text: &str| HttpUrl::parse(text).ok().map(|url| url.host().to_owned());
        if host(&metadata.resource) != host(&server.issuer) {
            quirks.push(
                "people log in at another host than the server's: go on only if you know it"
                    .to_owned(),
            );
        }
        let offline = |list: Option<&[String]>| {
            list.unwrap_or_default().iter().any(|it| it == "offline_access")
        };
        if offline(server.scopes_supported.as_deref())
            && !offline(metadata.scopes_supported.as_deref())
        {
            quirks.push("`offline_access` is listed by the issuer only: it is asked for, for a refresh token".to_owned());
        }
        if metadata.requires_dpop {
            quirks.push("takes no token without a DPoP proof".to_owned());
        }
    }
    if server.code_challenge_methods_supported.is_none() {
        quirks.push(
            "the issuer does not speak of PKCE, which is assumed because you said so".to_owned(),
        );
    }
    quirks
}

fn refused(error: &DiscoveryError, log_in: &dyn Fn(&str) -> String) -> Finding {
    let what = format!("a login would be refused: {}", masked(&error.failure.to_string()));
    let tried: Vec<_> = error.tried.iter().map(|it| masked(&it.to_string())).collect();
    let what = if tried.is_empty() { what } else { format!("{what}; asked {}", tried.join(", ")) };
    match allowing(error) {
        Some(flags) => Subject::Authorization
            .bad("login", what)
            .advise(format!("if you know that this is right, `{}` allows it", log_in(&flags))),
        None if error.is_transient() => {
            Subject::Authorization.unknown("login", "how to log in", what)
        }
        None => Subject::Authorization
            .bad("login", what)
            .advise("ask who runs the server for a token, and give it by `--bearer-env VAR`"),
    }
}

const fn known(kind: ClientKind) -> &'static str {
    match kind {
        ClientKind::Dynamic => "uses the client that it registered before",
        ClientKind::MetadataDocument => "names the URL of its metadata as its id",
        ClientKind::Preregistered => "uses the client that you registered",
    }
}
