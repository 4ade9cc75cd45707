//! Two clients that use one id at one time, over real sockets, and sessions in the wrong place: nothing of one
//! ever reaches the other.

use futures_util::future::join_all;
use ridethrough::Era;
use ridethrough_gateway::{ServerSettings, Share};
use serde_json::{Value, json};

use crate::raw_caller::RawCaller;
use crate::rig::Rig;
use crate::small_server::SmallServer;
use crate::sockets::{At, listen};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_clients_with_sessions_may_use_the_same_ids() {
    same_ids([Era::Legacy, Era::Legacy]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_clients_without_sessions_may_use_the_same_ids() {
    same_ids([Era::Modern, Era::Modern]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_of_two_eras_may_use_the_same_ids() {
    same_ids([Era::Legacy, Era::Modern]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_of_one_endpoint_is_none_at_another() {
    let address = gateway(Share::Session).await;
    for (home, other) in [("/mcp", "/mcp/a"), ("/mcp/a", "/mcp"), ("/mcp/a", "/mcp/b")] {
        let mut caller = RawCaller::connect(&address, home, Era::Legacy).await;
        let mut stranger = RawCaller::without_session(&address, other, Era::Legacy).await;
        stranger.session.clone_from(&caller.session);

        let (status, _) = stranger.ask(&json!(1), "tools/list", json!({})).await;

        assert_eq!(status, 404, "{home} at {other}");
        let (status, answer) = caller.ask(&json!(1), "tools/list", json!({})).await;
        assert_eq!(status, 200, "the session lives on: {answer}");
    }
}

/// Has pairs of clients call under one id at one time. The server answers neither before it has both, and
/// answers the later one first.
async fn same_ids(eras: [Era; 2]) {
    // One link, on which nothing but our ids tells two callers apart, is the most dangerous way.
    let address = gateway(Share::All).await;
    let all = std::env::var("RIDETHROUGH_TESTS").is_ok_and(|it| it == "all");
    let rounds = if all { ROUNDS } else { ROUNDS / 4 };
    let pairs = (0..PAIRS).map(|pair| {
        let address = address.clone();
        tokio::spawn(async move {
            let mut one = RawCaller::connect(&address, "/mcp", eras[0]).await;
            let mut other = RawCaller::connect(&address, "/mcp", eras[1]).await;
            for round in 0..rounds / PAIRS {
                // Numbers, texts, and ids that other pairs use too.
                let id = if round % 2 == 0 { json!(round) } else { json!(round.to_string()) };
                let texts = ["one", "other"].map(|it| format!("{it} {pair} {round}"));
                tokio::join!(
                    call(&mut one, &id, pair, &texts[0]),
                    call(&mut other, &id, pair, &texts[1]),
                );
            }
        })
    });
    for pair in join_all(pairs).await {
        pair.unwrap();
    }
}

async fn call(caller: &mut RawCaller, id: &Value, pair: usize, text: &str) {
    let arguments = json!({"pair": pair, "text": text});
    let params = json!({"name": "a_pair", "arguments": arguments});

    let (status, answer) = caller.ask(id, "tools/call", params).await;

    assert_eq!((status, &answer["id"]), (200, id), "{answer}");
    let said = answer["result"]["content"][0]["text"].as_str();
    assert_eq!(said, Some(text), "{answer}");
}

/// Starts a gateway with two servers, and returns its address.
async fn gateway(share: Share) -> String {
    let mut servers = Vec::new();
    for name in ["a", "b"] {
        let server = SmallServer::new(name, &["pair"]);
        let mut settings = ServerSettings::new(name, At(listen(server.served()).await));
        settings.share = share;
        servers.push(settings);
    }
    let rig = Rig::new(servers);
    let url = listen(rig.front.clone()).await;
    url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned()
}

/// More than ten thousand in the three tests together, and a quarter of it where `RIDETHROUGH_TESTS` is not `all`.
const ROUNDS: usize = 3_400;
/// Pairs of clients that call at the same time as others.
const PAIRS: usize = 8;
