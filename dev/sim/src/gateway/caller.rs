//! A caller of the gateway: a client, the names that it has learnt, and a person who may be asked.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ridethrough::credentials::StaticToken;
use ridethrough::model::{Elicited, FormRequest};
use ridethrough::{Client, ClientBuilder, Era, Json};
use ridethrough_core::rng::Rng;
use serde_json::json;
use tokio::time::timeout;

use super::record::{Record, Target};
use super::shape::{CallerShape, GatewayShape, Manner};
use super::site::{ASKING_TOOL, call_of, tools_of};
use super::told::by_gateway;
use crate::net::Network;
use crate::world::MESSAGE_LIMIT;
use crate::world::host::{Shared, lock};
use crate::world::order::{Order, SAFE_TOOL};
use crate::world::told::Told;

/// A caller. Clones share one caller.
#[derive(Clone)]
pub(super) struct GatewayCaller {
    pub(super) number: usize,
    pub(super) shape: CallerShape,
    pub(super) client: Client,
    known: Shared<KnownNames>,
    record: Record,
}

/// The names of tools that a caller knows.
struct KnownNames {
    names: Vec<KnownTool>,
    /// How often the config had been read by then.
    learnt: u64,
}

/// A name, and what it is the name of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KnownTool {
    pub(super) name: String,
    pub(super) target: Target,
}

impl GatewayCaller {
    pub(super) fn new(
        number: usize,
        world: &GatewayShape,
        network: Network,
        record: Record,
        seed: u64,
    ) -> Self {
        let shape = world.callers[number].clone();
        let builder = builder(&shape, world, network, seed);
        let builder = match shape.manner {
            Manner::Client(era) => attended(builder, number, &record).eras(era),
            Manner::Unattended(era) => builder.eras(era),
            Manner::Rounds => {
                builder.eras(Era::Modern).capabilities(json!({"elicitation": {"form": {}}}))
            }
        };
        let client = builder.build().expect("every setting is a good one");
        if shape.keeps_connected {
            client.keep_connected();
        }
        let known = KnownNames { names: guessed(world, &shape), learnt: 0 };
        Self { number, shape, client, known: Arc::new(known.into()), record }
    }

    /// Asks for the list of tools, and learns their names. Returns how many there are.
    pub(super) async fn learn(&self) -> Option<usize> {
        let learnt = self.record.reloads();
        let listed = timeout(Duration::from_secs(60), self.client.tools()).await.ok()?.ok()?;
        let mut seen = BTreeSet::new();
        let mut names = Vec::new();
        for tool in listed {
            let described = tool.description.as_deref().and_then(|text| text.split_once(' '));
            let server = described.and_then(|(place, _)| place.parse().ok());
            let Some((server, (_, original))) = server.zip(described) else { continue };
            let target = Target { server, tool: original.to_owned() };
            if tool.name.chars().count() > 64 || !seen.insert(tool.name.clone()) {
                let what = format!("{} of {target:?}", tool.name);
                self.record.broken("names are short, and each is there once", what);
            }
            names.push(KnownTool { name: tool.name, target });
        }
        let count = names.len();
        if count > 0 {
            *lock(&self.known) = KnownNames { names, learnt };
        }
        Some(count)
    }

    /// Chooses a tool that asks a person, or one that does not; and how often the config had been read when
    /// its name was learnt.
    pub(super) fn choose(&self, rng: &mut Rng, asks: bool) -> (KnownTool, u64) {
        let known = lock(&self.known);
        let fitting = known.names.iter().filter(|it| (it.target.tool == ASKING_TOOL) == asks);
        let fitting: Vec<_> = fitting.collect();
        // One that lists nothing but what does not fit is asked for what it has.
        let fitting = if fitting.is_empty() { known.names.iter().collect() } else { fitting };
        let place = usize::try_from(rng.below(fitting.len() as u64)).unwrap_or_default();
        (fitting[place].clone(), known.learnt)
    }

    /// Makes a call, and waits for its outcome.
    pub(super) async fn call(
        &self,
        order: Order,
        name: &str,
        deadline: Duration,
        wants_progress: bool,
    ) -> Told {
        let params = Json::new(order.params_of(name, "")).expect("written as JSON");
        let mut call = self.client.request("tools/call", params).timeout(deadline);
        if order.is_safe {
            call = call.idempotent();
        }
        if wants_progress {
            call = call.on_progress(|_| {});
        }
        by_gateway(call.await)
    }

    /// Leaves, and returns what was wrong about it.
    pub(super) async fn leave(self) -> Option<String> {
        let closed = timeout(Duration::from_secs(6), self.client.close()).await;
        closed.err().map(|_| format!("caller {} did not close within 6 s", self.number))
    }
}

fn builder(
    shape: &CallerShape,
    world: &GatewayShape,
    network: Network,
    seed: u64,
) -> ClientBuilder {
    let path = shape.only.map(|place| format!("/{}", world.servers[place].name));
    let url = format!("http://localhost/mcp{}", path.unwrap_or_default());
    let token = StaticToken::new(shape.principal.token()).expect("a token of letters");
    Client::builder(&url)
        .dial(network)
        .credentials(token)
        .message_limit(MESSAGE_LIMIT)
        .sleep_clock(|| Duration::from_secs(1_000_000_000))
        .seed(seed)
}

/// Adds a person who fills in forms.
fn attended(builder: ClientBuilder, number: usize, record: &Record) -> ClientBuilder {
    let record = record.clone();
    builder.on_form(move |form: FormRequest| {
        let call = call_of(&form.message);
        let person = record.asked(number, call);
        async move {
            match person.takes {
                Some(time) => tokio::time::sleep(time).await,
                None => std::future::pending().await,
            }
            if person.declines {
                return Elicited::Declined;
            }
            Elicited::filled_in(Json::from(json!({ "call": call })))
        }
    })
}

/// Returns the names that a reader of the config expects. Those that two servers claim are left out.
fn guessed(world: &GatewayShape, shape: &CallerShape) -> Vec<KnownTool> {
    let places = world.servers.iter().enumerate();
    let seen = places.filter(|(place, _)| shape.only.is_none_or(|only| only == *place));
    let tools = seen.flat_map(|(place, server)| {
        tools_of(place).into_iter().map(move |tool| {
            let name = if shape.only.is_some() {
                tool.to_owned()
            } else {
                format!("{}_{tool}", server.name)
            };
            KnownTool { name, target: Target { server: place, tool: tool.to_owned() } }
        })
    });
    tools.filter(|it| it.name != format!("a_b_{SAFE_TOOL}")).collect()
}
