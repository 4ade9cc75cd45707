//! What only a client and its server may know: tokens do not follow a redirect to another origin, and nothing
//! secret is printed.

use ridethrough::error::Kind;
use ridethrough::{Client, ClientBuilder, Error};
use ridethrough_lab::{Ask, Mcp, Mood, Protocol, Server, Times, When};

use crate::hook::{Asked, Hook};
use crate::rig::{Rig, call, params, secs};

on_every_carrier! {
    async fn a_redirect_to_the_same_origin_is_followed_with_the_token_and_the_session(rig: Rig) {
        for status in [307, 308] {
            let rig = Rig::over(rig.server.protocol());
            rig.mcp.require_bearer(Some("token"));
            let hook = Hook::brings(&["token", "another"]);
            let client = rig.builder().credentials(hook.clone()).build().unwrap();
            redirect(&rig, first_path(), status, "/v2/mcp?part=1".into());

            call(&client, "deploy", "a").await.unwrap();

            let log = rig.mcp.log();
            let led = log.iter().find(|entry| entry.target == "/v2/mcp?part=1").unwrap();
            assert_eq!(led.header("authorization"), Some("Bearer token"), "{status}");
            assert_eq!(led.session.as_deref(), Some("lab-session-1"));
            assert_eq!(rig.mcp.executions("deploy"), 1);
            assert_eq!(hook.asked(), [Asked::First]);
        }
    }

    async fn five_redirects_are_followed(rig: Rig) {
        let client = rig.client();
        let leads_on = When::tool("deploy").and(When::matches(|it| it.target != "/mcp?hop=5"));
        rig.mcp.rule(leads_on, Times::Always, hop);

        call(&client, "deploy", "a").await.unwrap();

        assert_eq!(rig.count(When::tool("deploy")), 6);
        assert_eq!(rig.mcp.executions("deploy"), 1);
    }

    async fn a_sixth_redirect_is_not_followed(rig: Rig) {
        let client = rig.client();
        rig.mcp.rule(When::tool("deploy"), Times::Always, hop);

        let error = call(&client, "deploy", "a").await.unwrap_err();

        assert_eq!(kind(&error), Kind::Rejected { status: 307 });
        assert!(error.may_have_run(), "the page of an error redirects, too");
        assert_eq!(rig.count(When::tool("deploy")), 6);
    }

    async fn a_301_302_or_303_is_not_followed_and_names_its_target(rig: Rig) {
        for status in [301, 302, 303] {
            let rig = Rig::over(rig.server.protocol());
            let client = rig.client();
            redirect(&rig, When::tool("deploy"), status, "/v2/mcp?part=1".into());

            let error = call(&client, "deploy", "a").await.unwrap_err();

            assert_eq!(kind(&error), Kind::Rejected { status });
            assert!(error.to_string().contains("/v2/mcp"), "{error}");
            assert_eq!(rig.count(When::tool("deploy")), 1);
            assert_eq!(rig.count(When::matches(|entry| entry.target != "/mcp")), 0);
        }
    }
}

on_every_socket! {
    async fn a_token_does_not_follow_a_redirect_of_a_call_to_another_origin_on_sockets(rig: Rig) {
        for status in [307, 308] {
            let other = Other::near(&rig).await;
            let client = rig.builder().credentials(Hook::brings(&["token"])).build().unwrap();
            client.connect().await.unwrap();
            redirect(&rig, When::tool("deploy"), status, format!("{}?key=s3cret-other", other.url));

            let error = call(&client, "deploy", "a").await.unwrap_err();

            assert_eq!(kind(&error), Kind::Rejected { status });
            assert!(error.to_string().contains(other.origin()), "{error}");
            let said = format!("{error:?} {}", error.report());
            assert!(!said.contains("s3cret-other") && !said.contains(&other.url), "{said}");
            assert_eq!(other.contacts(), 0);
            rig.mcp.clear_rules();
        }
    }

    async fn a_token_does_not_follow_a_redirect_of_the_handshake_to_another_origin_on_sockets(rig: Rig) {
        let other = Other::near(&rig).await;
        let client = rig.builder().credentials(Hook::brings(&["token"])).build().unwrap();
        redirect(&rig, When::method("initialize"), 307, other.url.clone());

        let error = call(&client, "deploy", "a").await.unwrap_err();

        assert_eq!(kind(&error), Kind::Rejected { status: 307 });
        assert!(error.to_string().contains(other.origin()), "{error}");
        assert_eq!(other.contacts(), 0);
    }
}

on_every_carrier! {
    async fn no_error_and_no_event_prints_a_secret(rig: Rig) {
        let said = everything_said(&rig).await;

        for secret in SECRETS {
            let said = said.iter().find(|said| said.contains(secret));
            assert_eq!(said, None, "{secret}");
        }
    }

    async fn every_kind_of_trouble_is_in_what_is_searched_for_secrets(rig: Rig) {
        let said = everything_said(&rig).await.join("\n");

        for word in [
            "BreakerOpened", "Cancelled", "Closed", "ConnectFailed", "CredentialsFailed",
            "CredentialsRenewed", "DeadlinePassed", "Hiccup", "Interrupted", "PeerMisbehaved",
            "Rejected", "SessionLost", "Unauthorized", "elsewhere.test", "Unreachable",
        ] {
            assert!(said.contains(word), "{word}");
        }
        for secret in SECRETS {
            let sent = rig.mcp.log().iter().any(|it| format!("{} {:?}", it.target, it.headers).contains(secret));
            assert!(sent, "{secret} was sent");
        }
    }

    async fn a_client_and_its_builder_print_no_secret(rig: Rig) {
        let builder = secretive(&rig);

        let shown = format!("{builder:?}");
        let client = builder.build().unwrap();
        call(&client, "echo", "a").await.unwrap();
        let pending = client.request("tools/call", params("echo", "b"));
        let shown = format!("{shown} {client:?} {pending:?} {:?} {:?}", client.events(), client.status().await);

        for secret in SECRETS {
            assert!(!shown.contains(secret), "{shown}");
        }
    }
}

/// The secrets of the client and its server.
const SECRETS: [&str; 5] =
    ["s3cret-token", "s3cret-header", "s3cret-query", "s3cret-cookie", "lab-session"];

/// Returns the builder of a client with secrets.
fn secretive(rig: &Rig) -> ClientBuilder {
    let builder = rig.builder_to(&format!("{}?key=s3cret-query", rig.url()));
    let hook = Hook::brings(&["s3cret-token-1", "s3cret-token-2"]);
    builder.header("x-key", "s3cret-header").credentials(hook)
}

/// Goes through all kinds of trouble and returns everything that was printed about it. The server repeats the
/// client's secrets wherever it can.
async fn everything_said(rig: &Rig) -> Vec<String> {
    let client = secretive(rig).build().unwrap();
    let mut events = client.events();
    let mut said = Vec::new();

    rig.mcp.lost_session(400, "unknown session: lab-session-1 of s3cret-token-1");
    rig.mcp.require_bearer(Some("s3cret-token-1"));
    answer_once(rig, 200, &[JSON, ("set-cookie", "route=s3cret-cookie")]);
    said.push(fails(&client).await);
    rig.mcp.require_bearer(Some("s3cret-token-2"));
    call(&client, "deploy", "renews credentials").await.unwrap();
    rig.mcp.forget_sessions();
    call(&client, "deploy", "renews the session").await.unwrap();
    answer_once(rig, 307, &[("location", "https://elsewhere.test/?key=s3cret-query")]);
    said.push(fails(&client).await);
    answer_once(rig, 301, &[("location", "/?key=s3cret-query")]);
    said.push(fails(&client).await);
    answer_once(rig, 502, &[]);
    said.push(fails(&client).await);
    said.push(passes_its_deadline(rig, &client).await);
    said.push(cannot_connect(rig, &client).await);
    call(&client, "deploy", "is well again").await.unwrap();
    rig.mcp.require_bearer(Some("another"));
    said.push(fails(&client).await);
    rig.mcp.require_bearer(None);
    said.extend(opens_the_breaker(rig, &client).await);
    said.push(format!("{:?}", client.status().await));
    client.close().await;
    said.push(fails(&client).await);

    said.extend(std::iter::from_fn(|| events.try_next()).map(|seen| format!("{seen:?}")));
    said
}

/// Returns the error of a call that must fail, in all forms in which it can be printed.
async fn fails(client: &Client) -> String {
    let error = call(client, "deploy", "a").await.unwrap_err();
    format!("{error}\n{error:?}\n{}\n{:?}", error.report(), std::error::Error::source(&error))
}

/// Answers one call with this, and with a body that repeats everything in the request.
fn answer_once(rig: &Rig, status: u16, headers: &'static [(&'static str, &'static str)]) {
    rig.mcp.rule(When::tool("deploy"), Times::Once, move |ask: Ask| {
        let body = asked_with(&ask);
        ask.status(status, headers, body)
    });
}

fn asked_with(ask: &Ask) -> String {
    let headers = ["authorization", "x-key", "cookie", "mcp-session-id"];
    let headers = headers.map(|name| ask.entry.header(name).unwrap_or_default().to_owned());
    format!("{} {}", ask.entry.target, headers.join(" "))
}

async fn passes_its_deadline(rig: &Rig, client: &Client) -> String {
    let hold = |ask: Ask| ask.reply().1.hold();
    rig.mcp.rule(When::tool("held"), Times::Always, hold);
    let request = || client.request("tools/call", params("held", "a"));
    tokio::time::timeout(secs(1), request()).await.unwrap_err();
    let error = request().timeout(secs(1)).await.unwrap_err();
    format!("{error} {error:?} {}", error.report())
}

async fn cannot_connect(rig: &Rig, client: &Client) -> String {
    rig.server.set_mood(Mood::Down);
    rig.server.reset_connections();
    let said = fails(client).await;
    rig.server.set_mood(Mood::Up);
    said
}

async fn opens_the_breaker(rig: &Rig, client: &Client) -> Vec<String> {
    let refuse = |ask: Ask| {
        let body = asked_with(&ask);
        ask.status(404, &[], body)
    };
    for when in [When::tool("deploy"), When::method("ping")] {
        rig.mcp.rule(when, Times::Exactly(100), refuse);
    }
    let mut said = Vec::new();
    for _ in 0..6 {
        said.push(fails(client).await);
    }
    said
}

/// Another server, on another origin because it has another port.
struct Other {
    server: Server,
    mcp: Mcp,
    url: String,
}

impl Other {
    async fn near(rig: &Rig) -> Self {
        let (protocol, mcp) = (rig.server.protocol(), Mcp::new());
        let authority = rig.server.authority().clone();
        let server = Server::with_authority(protocol, authority, mcp.clone());
        let port = server.listen().await.unwrap().port();
        Self { server, mcp, url: format!("{}://localhost:{port}/mcp", protocol.scheme()) }
    }

    /// Returns the origin, which is all that a message may name.
    fn origin(&self) -> &str {
        self.url.trim_end_matches("/mcp")
    }

    /// Returns how often a client connected or sent a request.
    fn contacts(&self) -> usize {
        self.server.dials() as usize + self.mcp.count(&When::any())
    }
}

fn kind(error: &Error) -> Kind {
    error.call().unwrap_or_else(|| panic!("an answer: {error}")).kind
}

/// Matches a call that no redirect has led elsewhere yet.
fn first_path() -> When {
    When::tool("deploy").and(When::matches(|entry| entry.target == "/mcp"))
}

fn redirect(rig: &Rig, when: When, status: u16, location: String) {
    rig.mcp.rule(when, Times::Always, move |ask| {
        let location = location.clone();
        async move { ask.status(status, &[("location", &location)], "").await }
    });
}

/// Redirects from each target to the next.
async fn hop(ask: Ask) {
    let hops: u32 = ask.entry.target.trim_start_matches("/mcp?hop=").parse().unwrap_or(0);
    ask.status(307, &[("location", &format!("/mcp?hop={}", hops + 1))], "").await;
}

const JSON: (&str, &str) = ("content-type", "application/json");
