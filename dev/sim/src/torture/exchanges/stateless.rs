//! Servers of the stateless revision, and servers whose era changes.

use ridethrough::model::Elicited;
use ridethrough::server::Eras;
use ridethrough::{ClientBuilder, Era, Json};
use ridethrough_lab::{Mcp, Round, Spoken, Style, Times, When};
use serde_json::json;

use super::standing::{URI, hear};
use super::trouble::UNEXPLAINED;
use crate::torture::exchange::Play::{Steps, Told};
use crate::torture::exchange::Step::{Close, Deploy, DropAfterASecond, Read, Request, Speaks};
use crate::torture::exchange::{After, BOTH, Exchange, Leeway, Lenient};
use crate::torture::stage::Nature;

const STATELESS: Exchange = Exchange {
    serve: |mcp| mcp.speaks(Spoken::Modern),
    dress: |builder| builder.eras(Era::Modern),
    ..Exchange::PLAIN
};

pub(super) const EXCHANGES: &[Exchange] = &[
    Exchange { name: "stateless", play: BOTH, ..STATELESS },
    Exchange {
        name: "stateless-at-once",
        play: Told(|stage| {
            Box::pin(async {
                tokio::join!(stage.deploy("a"), stage.read("b"), stage.deploy("c"));
            })
        }),
        ..STATELESS
    },
    Exchange {
        name: "stateless-sse",
        serve: |mcp| {
            mcp.speaks(Spoken::Modern);
            mcp.answers(Style::SseApart);
        },
        play: BOTH,
        ..STATELESS
    },
    Exchange {
        name: "stateless-lists",
        play: Steps(&[
            Request("tools/list", "null"),
            Request("resources/read", r#"{ "uri": "lab://note" }"#),
            Request("prompts/get", r#"{ "name": "greet" }"#),
        ]),
        ..STATELESS
    },
    // Two rounds of input before the tool runs.
    Exchange {
        name: "stateless-input",
        serve: wants_input,
        dress: |builder| answering(builder.eras(Era::Modern)),
        play: BOTH,
        ..STATELESS
    },
    // The tool marks an argument that must be in a header: -32020, the list, and again.
    Exchange {
        name: "stateless-mended-headers",
        serve: |mcp| {
            mcp.speaks(Spoken::Modern);
            let marked = json!({ "key": { "type": "string", "x-mcp-header": "Key" } });
            let schema = json!({ "type": "object", "properties": marked });
            mcp.tools(json!([
                { "name": "deploy", "inputSchema": schema },
                { "name": "read", "inputSchema": { "type": "object" } },
            ]));
        },
        play: BOTH,
        leeway: &[
            UNEXPLAINED,
            Leeway {
                ending: Lenient::Code(-32020),
                after: After::Stall,
                why: "L18: a list that cannot be had within 15 s holds up no call, and silence takes longer",
            },
        ],
        ..STATELESS
    },
    Exchange {
        name: "stateless-cancel",
        serve: |mcp| {
            mcp.speaks(Spoken::Modern);
            mcp.rule(When::tool("deploy"), Times::Always, |ask| async move {
                ask.run();
                let mut sse = ask.sse().await;
                sse.gone().await;
            });
        },
        play: Steps(&[DropAfterASecond("a"), Read("b")]),
        ..STATELESS
    },
    Exchange { name: "stateless-close", play: Steps(&[Deploy("a"), Close]), ..STATELESS },
    Exchange {
        name: "stateless-limited",
        serve: |mcp| {
            mcp.speaks(Spoken::Modern);
            mcp.rule(When::method("tools/call"), Times::Once, |ask| async move {
                ask.status(429, &[("retry-after", "2")], "").await;
            });
        },
        play: BOTH,
        ..STATELESS
    },
    Exchange {
        name: "subscriptions",
        play: Told(|stage| {
            Box::pin(async {
                for number in 1..=4 {
                    let uri = json!({ "uri": format!("{URI}{number}") });
                    let call = stage.client.request("resources/subscribe", uri).idempotent();
                    let name = format!("subscribe {number}");
                    stage.until(&name, Nature::Safe, call).await;
                }
                let mut heard = hear(stage).await;
                // There is no replay: after a gap each resource is reported as changed.
                heard.sort_unstable();
                heard.dedup();
                stage.heard(&heard);
            })
        }),
        ..STATELESS
    },
    Exchange {
        name: "era-found-stateless",
        dress: |builder| builder.eras(Eras::Either),
        play: BOTH,
        ..STATELESS
    },
    Exchange {
        name: "era-upgraded",
        serve: |_| {},
        dress: |builder| builder.eras(Eras::Either),
        play: Steps(&[Read("a"), Speaks(Spoken::Modern), Deploy("b")]),
        leeway: &[UNEXPLAINED],
        ..STATELESS
    },
    Exchange {
        name: "era-rolled-back",
        dress: |builder| builder.eras(Eras::Either),
        play: Steps(&[Read("a"), Speaks(Spoken::Legacy), Deploy("b")]),
        ..STATELESS
    },
];

fn wants_input(mcp: &Mcp) {
    mcp.speaks(Spoken::Modern);
    let schema = json!({ "type": "object", "properties": {} });
    let params = json!({ "message": "sure?", "requestedSchema": schema });
    let question = json!({ "method": "elicitation/create", "params": params });
    let round = |state: &str| Round {
        input: Some(json!({ "sure": question })),
        state: Some(state.to_owned()),
    };
    mcp.asks_for_input("deploy", vec![round("one"), round("two")]);
}

fn answering(builder: ClientBuilder) -> ClientBuilder {
    builder.on_form(|_| async { Elicited::Accepted(Json::empty_object()) })
}
