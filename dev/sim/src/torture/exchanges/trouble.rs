//! Servers that fail by themselves: lost sessions, refused tokens, limits, gateways, redirects, restarts. The
//! cut comes on top of that.

use std::time::Duration;

use ridethrough::credentials::{Credentials, NoCredentials, Refused, Token};
use ridethrough::error::Kind;
use ridethrough::transport::BoxFuture;
use ridethrough::{ClientBuilder, Era};
use ridethrough_lab::{Mcp, Times, When};
use serde_json::json;

use crate::torture::exchange::Play::{Steps, Told};
use crate::torture::exchange::Step::{CloseIdle, Deploy, ForgetSessions, GoAway, Read, Sleep};
use crate::torture::exchange::{After, BOTH, Exchange, Leeway, Lenient, RESUMABLE, plain, served};
use crate::torture::stage::text_of;

pub(super) const EXCHANGES: &[Exchange] = &[
    plain("session-lost", &[Read("a"), ForgetSessions, Deploy("b"), Read("c")]),
    Exchange {
        name: "session-lost-in-words",
        serve: |mcp| mcp.lost_session(400, "Bad Request: No valid session ID provided"),
        play: Steps(&[Read("a"), ForgetSessions, Deploy("b")]),
        leeway: &[UNEXPLAINED],
        ..Exchange::PLAIN
    },
    Exchange {
        name: "session-lost-in-words-by-a-read",
        serve: |mcp| mcp.lost_session(400, "Bad Request: No valid session ID provided"),
        play: Steps(&[Read("a"), ForgetSessions, Read("b")]),
        ..Exchange::PLAIN
    },
    Exchange {
        name: "session-lost-by-all",
        play: Told(|stage| {
            Box::pin(async {
                stage.read("a").await;
                stage.mcp.forget_sessions();
                tokio::join!(stage.deploy("b"), stage.read("c"), stage.deploy("d"));
            })
        }),
        ..Exchange::PLAIN
    },
    Exchange {
        name: "token-renewed",
        serve: |mcp| mcp.require_bearer(Some("new")),
        dress: with_tokens,
        play: BOTH,
        ..Exchange::PLAIN
    },
    Exchange {
        name: "token-expired",
        serve: |mcp| mcp.require_bearer(Some("old")),
        dress: with_tokens,
        play: Told(|stage| {
            Box::pin(async {
                stage.read("a").await;
                stage.mcp.require_bearer(Some("new"));
                tokio::join!(stage.deploy("b"), stage.read("c"));
            })
        }),
        ..Exchange::PLAIN
    },
    // Once a stream is cut, its resume is refused twice. A refused resume says nothing about the call, so it
    // stays in doubt.
    Exchange {
        name: "resume-refused",
        serve: resume_refused,
        dress: with_tokens,
        play: BOTH,
        deadline: RESUMABLE,
        ..Exchange::PLAIN
    },
    Exchange {
        name: "limited",
        serve: |mcp| refuses(mcp, 429, &[("retry-after", "2")]),
        play: BOTH,
        ..Exchange::PLAIN
    },
    served("overloaded", |mcp| refuses(mcp, 503, &[("retry-after", "2")])),
    // A gateway that lost the answer: the unsafe call ends in doubt, the safe one is sent again.
    served("bad-gateway", |mcp| {
        mcp.rule(When::method("tools/call"), Times::Exactly(2), |ask| async move {
            ask.run();
            ask.status(502, &[], "Bad Gateway").await;
        });
    }),
    served("redirect", |mcp| {
        let is_old = |entry: &ridethrough_lab::Entry| entry.target == "/mcp";
        mcp.rule(When::matches(is_old), Times::Always, |ask| async move {
            ask.status(307, &[("location", "/moved")], "").await;
        });
    }),
    served("cookies", cookies),
    served("closes-after-each", |mcp| {
        mcp.rule(When::method("tools/call"), Times::Always, |ask| async move {
            ask.run();
            let body = ask.result(text_of(&ask.arguments()));
            let headers = [("content-type", "application/json"), ("connection", "close")];
            ask.status(200, &headers, body).await;
        });
    }),
    plain(
        "idle-connections-closed",
        &[Read("a"), CloseIdle, Deploy("b"), Sleep(1), CloseIdle, Sleep(1), Deploy("c")],
    ),
    plain("goes-away", &[Read("a"), GoAway, Deploy("b")]),
    Exchange {
        name: "restarted",
        play: Told(|stage| {
            Box::pin(async {
                stage.read("a").await;
                stage.server.kill().await;
                stage.mcp.forget_sessions();
                // A server without a socket has no port that could be taken.
                let _ = stage.server.restart().await;
                stage.deploy("b").await;
                stage.read("c").await;
            })
        }),
        ..Exchange::PLAIN
    },
];

/// An unsafe call whose refusal was cut off. It may not be sent again, since some servers answer with a
/// JSON-RPC error under 400 when they have run something.
pub(super) const UNEXPLAINED: Leeway = Leeway {
    ending: Lenient::Kind(Kind::Rejected { status: 400 }),
    after: After::Any,
    why: "row 4: the words of the refusal broke off, and only a safe call asks again",
};

/// Makes the server refuse the first call with this status, without running it.
fn refuses(mcp: &Mcp, status: u16, headers: &'static [(&'static str, &'static str)]) {
    mcp.rule(When::method("tools/call"), Times::Once, move |ask| async move {
        ask.status(status, headers, "").await;
    });
}

/// Makes the server answer in streams with event ids that cannot be resumed: the token has expired, then the
/// stream is gone.
fn resume_refused(mcp: &Mcp) {
    mcp.rule(When::method("tools/call"), Times::Always, |ask| async move {
        ask.run();
        let result = text_of(&ask.arguments());
        let mut sse = ask.sse().await;
        sse.prime("gone").await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        sse.answer_and_finish(result).await;
    });
    mcp.rule(When::resume(), Times::Always, |ask| async move {
        if ask.entry.header("authorization") == Some("Bearer old") {
            return ask.status(401, &[("www-authenticate", "Bearer")], "").await;
        }
        let error = ask.error(-32000, "no such stream");
        ask.status(404, &[("content-type", "application/json")], error).await;
    });
}

/// A server without sessions behind a load balancer that recognises clients by a cookie.
fn cookies(mcp: &Mcp) {
    mcp.issue_sessions(false);
    mcp.rule(When::method("initialize"), Times::Always, |ask| async move {
        let info = json!({ "name": "lab", "version": "1" });
        let body = ask.result(json!({
            "protocolVersion": "2025-11-25", "capabilities": { "tools": {} }, "serverInfo": info,
        }));
        let cookie = ("set-cookie", "node=a; Path=/");
        ask.status(200, &[("content-type", "application/json"), cookie], body).await;
    });
    let is_stray = |entry: &ridethrough_lab::Entry| entry.header("cookie") != Some("node=a");
    let stray = When::method("tools/call").and(When::matches(is_stray));
    mcp.rule(stray, Times::Always, |ask| async move {
        ask.status(400, &[("content-type", "text/plain")], "which node?").await;
    });
}

fn with_tokens(builder: ClientBuilder) -> ClientBuilder {
    builder.eras(Era::Legacy).credentials(Tokens)
}

/// An old token, and a new one when that is refused.
struct Tokens;

impl Credentials for Tokens {
    fn token<'a>(
        &'a self,
        refused: Option<Refused<'a>>,
    ) -> BoxFuture<'a, Result<Option<Token>, NoCredentials>> {
        let token = if refused.is_none() { "old" } else { "new" };
        Box::pin(async move {
            Token::bearer(token)
                .map(Some)
                .map_err(|error| NoCredentials::because(error.to_string()))
        })
    }
}
