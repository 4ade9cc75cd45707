//! The name and password for a proxy: they are in no error, no event, no log record and no output.

use ridethrough_lab::{Mood, Protocol};

use crate::middleman::{Middleman, URL, Way};
use crate::rig::{Rig, call, paused, secs};
use crate::written::Written;

#[test]
fn nothing_that_is_said_or_recorded_shows_the_name_or_password_for_a_proxy() {
    for protocol in Protocol::ALL {
        let written = Written::default();

        let said = tracing::subscriber::with_default(written.clone(), || live(protocol));

        let all = format!("{said}\n{}", written.text());
        for word in ["status 407", "status 502", "call failed", "proxy.test:3128"] {
            assert!(all.contains(word), "{protocol:?}: no `{word}` in what is searched");
        }
        for secret in ["us3r", "s3cret", "dXMzcjpzM2NyZXQ"] {
            assert!(!all.contains(secret), "{protocol:?}: `{secret}` is shown");
        }
    }
}

/// Runs a client whose proxy refuses it, cannot reach the server, dies and comes back.
fn live(protocol: Protocol) -> String {
    paused(async {
        let rig = Rig::over(protocol);
        let proxy = Middleman::before(&rig.server);
        let builder = proxy.builder(&rig);
        let mut said = vec![format!("{builder:?}")];
        let client = builder.build().unwrap();
        let mut events = client.events();

        for way in [Way::Status(407), Way::Status(502), Way::Resets, Way::Says("no"), Way::Down] {
            proxy.goes(way);
            let error = call(&client, "deploy", "a").await.unwrap_err();
            said.push(format!("{error}\n{error:?}\n{}", error.report()));
            said.push(format!("{:?}", client.status().await));
        }
        proxy.goes(Way::Tunnels);
        tokio::time::sleep(secs(120)).await;
        call(&client, "deploy", "b").await.unwrap();
        rig.server.set_mood(Mood::Down);
        proxy.breaks();
        said.push(format!("{:?} {client:?}", call(&client, "deploy", "c").await));
        client.close().await;

        said.extend(std::iter::from_fn(|| events.try_next()).map(|seen| format!("{seen:?}")));
        said.join("\n")
    })
}

#[tokio::test]
async fn a_proxy_that_cannot_be_used_is_refused_without_its_password() {
    let rig = Rig::over(Protocol::Http1);

    let error = rig.builder().proxy(URL.replace("http:", "socks5:")).build().unwrap_err();

    let shown = format!("{error} {error:?}");
    assert!(shown.contains("socks5://proxy.test:3128"), "{shown}");
    assert!(!shown.contains("us3r") && !shown.contains("s3cret"), "{shown}");
}
