//! The whole way over real sockets.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ridethrough::credentials::StaticToken;
use ridethrough::{Client, ClientBuilder, Era};
use ridethrough_gateway::{Connect, ServerSettings};
use ridethrough_server::Server;
use tokio::net::TcpListener;

use crate::rig::{ERAS, OWNER, Rig, call, names};
use crate::small_server::SmallServer;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_of_both_eras_call_servers_over_sockets() {
    let mut servers = Vec::new();
    for name in ["a", "b"] {
        let server = SmallServer::new(name, &["echo"]);
        servers.push(ServerSettings::new(name, At(listen(server.served()).await)));
    }
    let rig = Rig::new(servers);
    let url = listen(rig.front.clone()).await;

    for era in ERAS {
        let client = client(&url, era);
        assert_eq!(names(&client).await, ["a_echo", "b_echo"], "{era:?}");
        for tool in ["a_echo", "b_echo"] {
            let server = &tool[..1];
            assert_eq!(call(&client, tool).await, format!(r#"{server} {{"a":1}}"#), "{era:?}");
        }
        client.close().await;
    }
}

/// Progress and answer come by different ways, and only one order is right.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn progress_comes_before_the_answer_that_it_leads_to() {
    let server = SmallServer::new("a", &["progress"]);
    let rig = Rig::new(vec![ServerSettings::new("a", At(listen(server.served()).await))]);
    let client = client(&listen(rig.front.clone()).await, Era::Legacy);

    for round in 0..200 {
        let steps = Arc::<AtomicUsize>::default();
        let seen = steps.clone();
        let call = client.call_tool("a_progress", ());
        let call = call.on_progress(move |_| {
            seen.fetch_add(1, Ordering::Relaxed);
        });
        call.await.unwrap();

        assert_eq!(steps.load(Ordering::Relaxed), 3, "round {round}");
    }
}

pub(crate) fn client(url: &str, era: Era) -> Client {
    let credentials = StaticToken::new(OWNER).unwrap();
    Client::builder(url).eras(era).credentials(credentials).build().unwrap()
}

/// Serves on a port that is free, and returns the address.
pub(crate) async fn listen(server: Server) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            let server = server.clone();
            tokio::spawn(async move { server.serve(connection).await });
        }
    });
    format!("http://{address}/mcp")
}

/// The way to a server at a URL.
pub(crate) struct At(pub(crate) String);

impl Connect for At {
    fn builder(&self) -> Result<ClientBuilder, String> {
        Ok(Client::builder(&self.0))
    }

    fn is_local(&self) -> bool {
        false
    }

    fn fingerprint(&self) -> String {
        self.0.clone()
    }
}
