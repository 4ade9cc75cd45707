//! A small MCP server. What its tools do follows from their names.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ridethrough_server::{
    AccessPolicy, Backend, BoxFuture, Caller, Conversation, HostSide, OpenCalls, ParsedMessage,
    Server, Settings, Unavailable,
};
use ridethrough_wire::message::{Answer, Id, Json, Message};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::sleep;

use crate::rig::millis;
use crate::small_tasks::{ASKING, SmallTasks, tool};

/// A message, and the id of the call that it belongs to, if it is not said by the message itself.
type Said = (ParsedMessage, Option<Json>);

/// A server with tools that can be changed.
#[derive(Clone)]
pub(crate) struct SmallServer(Arc<Inner>);

struct Inner {
    name: String,
    tools: Mutex<Vec<Value>>,
    resources: Mutex<Vec<String>>,
    /// Every conversation that is open, by its number.
    open: Mutex<BTreeMap<u64, mpsc::UnboundedSender<Said>>>,
    begun: AtomicU64,
    /// How often it asked something for no call.
    asked: AtomicU64,
    lists: AtomicUsize,
    /// What was heard, as it was written.
    heard: Mutex<Vec<String>>,
    /// The first call of each pair, whose answer waits for the second.
    pairs: Mutex<BTreeMap<u64, (Talk, Id, String)>>,
    tasks: Mutex<SmallTasks>,
    /// Whether it answers stateless requests as a server of that revision does.
    is_stateless: AtomicBool,
    completes: AtomicBool,
    /// Whether it takes nothing at the moment.
    is_deaf: AtomicBool,
}

impl SmallServer {
    pub(crate) fn new(name: &str, tools: &[&str]) -> Self {
        let server = Self(Arc::new(Inner {
            name: name.to_owned(),
            tools: Mutex::default(),
            resources: Mutex::default(),
            open: Mutex::default(),
            begun: AtomicU64::new(0),
            asked: AtomicU64::new(0),
            lists: AtomicUsize::new(0),
            heard: Mutex::default(),
            pairs: Mutex::default(),
            tasks: Mutex::default(),
            is_stateless: AtomicBool::new(false),
            completes: AtomicBool::new(false),
            is_deaf: AtomicBool::new(false),
        }));
        server.set_tools(tools);
        server
    }

    /// The server's side of HTTP in front of it.
    pub(crate) fn served(&self) -> Server {
        let access = AccessPolicy::new([127, 0, 0, 1].into(), None);
        Server::new(self.clone(), access, Settings::default().sessions(100), |_| {})
    }

    pub(crate) fn set_tools(&self, tools: &[&str]) {
        *self.0.tools.lock().unwrap() = tools.iter().map(|name| tool(name)).collect();
    }

    /// Says of each tool whether it only reads.
    pub(crate) fn set_only_reading(&self, only_reads: bool) {
        for tool in &mut *self.0.tools.lock().unwrap() {
            tool["annotations"] = json!({"readOnlyHint": only_reads});
        }
    }

    pub(crate) fn set_resources(&self, uris: &[&str]) {
        *self.0.resources.lock().unwrap() = uris.iter().map(|it| (*it).to_owned()).collect();
    }

    /// Lets it have tasks.
    pub(crate) fn with_tasks(&self) {
        self.0.tasks.lock().unwrap().is_on = true;
    }

    /// Ends the work on a task.
    pub(crate) fn finish_task(&self, id: &str) {
        self.0.tasks.lock().unwrap().finish(id);
    }

    /// Lets it complete arguments.
    pub(crate) fn with_completions(&self) {
        self.0.completes.store(true, Ordering::Relaxed);
    }

    /// Makes it take nothing, until it does again. Whoever says something waits.
    pub(crate) fn set_deaf(&self, is_deaf: bool) {
        self.0.is_deaf.store(is_deaf, Ordering::Relaxed);
    }

    /// Makes it a server of the stateless revision, which asks by `input_required`.
    pub(crate) fn become_stateless(&self) {
        self.0.is_stateless.store(true, Ordering::Relaxed);
    }

    /// Says this in every conversation.
    pub(crate) fn tell(&self, method: &str, params: Value) {
        let message = ParsedMessage::notification(method, Some(&Json::from(params)));
        for said in self.0.open.lock().unwrap().values() {
            let _ = said.send((message.clone(), None));
        }
    }

    /// Asks this in every conversation, for no call.
    pub(crate) fn ask(&self, method: &str, params: Value) {
        let id = Id::of_number(5000 + self.0.asked.fetch_add(1, Ordering::Relaxed));
        let message = ParsedMessage::request(id, method, Some(&Json::from(params)));
        for said in self.0.open.lock().unwrap().values() {
            let _ = said.send((message.clone(), None));
        }
    }

    /// How many conversations have begun, and how many are open.
    pub(crate) fn conversations(&self) -> (u64, usize) {
        (self.0.begun.load(Ordering::Relaxed), self.0.open.lock().unwrap().len())
    }

    /// How often a list was asked for.
    pub(crate) fn lists(&self) -> usize {
        self.0.lists.load(Ordering::Relaxed)
    }

    /// What was heard of this method.
    pub(crate) fn heard(&self, method: &str) -> Vec<String> {
        let heard = self.0.heard.lock().unwrap();
        heard.iter().filter(|it| it.contains(&format!("\"{method}\""))).cloned().collect()
    }

    /// Ends every conversation, as a server does that is restarted.
    pub(crate) fn forget_everybody(&self) {
        self.0.open.lock().unwrap().clear();
    }
}

impl Backend for SmallServer {
    fn open<'a>(
        &'a self,
        _: &'a Caller,
        host: HostSide,
    ) -> BoxFuture<'a, Result<Conversation, Unavailable>> {
        let server = self.clone();
        Box::pin(async { Ok(Box::pin(server.talk(host)) as Conversation) })
    }

    fn name(&self) -> &str {
        &self.0.name
    }

    fn understands_stateless(&self) -> bool {
        self.0.is_stateless.load(Ordering::Relaxed)
    }
}

impl SmallServer {
    async fn talk(self, host: HostSide) {
        let HostSide { mut letters, closing, voice } = host;
        let number = self.0.begun.fetch_add(1, Ordering::Relaxed) + 1;
        let (said, mut saying) = mpsc::unbounded_channel();
        let calls = OpenCalls::default();
        self.0.open.lock().unwrap().insert(number, said.clone());
        let asked = BTreeMap::new();
        let mut talk = Talk { server: self.clone(), number, said: said.downgrade(), asked };
        drop(said);
        let listening = async {
            while let Some(letter) = letters.recv().await {
                while self.0.is_deaf.load(Ordering::Relaxed) {
                    sleep(millis(10)).await;
                }
                let heard: Vec<_> = letter.iter().map(|it| it.message().clone()).collect();
                calls.take_down(letter);
                heard.iter().for_each(|it| talk.hear(it));
            }
        };
        let speaking = async {
            while let Some((message, call)) = saying.recv().await {
                match call.and_then(|call| calls.aside(&call)) {
                    Some(call) => call.say(message).await,
                    None => calls.pass_on(message, &voice).await,
                }
            }
        };
        tokio::select! { () = listening => {}, () = speaking => {}, _ = closing => {} }
        self.0.open.lock().unwrap().remove(&number);
    }
}

struct Talk {
    server: SmallServer,
    number: u64,
    said: mpsc::WeakUnboundedSender<Said>,
    /// The calls that wait for the answer to a question, by the question's id.
    asked: BTreeMap<u64, Id>,
}

impl Talk {
    fn hear(&mut self, heard: &ParsedMessage) {
        let inner = self.server.0.clone();
        inner.heard.lock().unwrap().push(String::from_utf8(heard.text().to_vec()).unwrap());
        match &heard.message {
            Message::Request { id, method, params } => self.ask(id, method, params.as_ref()),
            Message::Response { id, answer } => {
                let call = id.as_ref().and_then(Id::number).and_then(|it| self.asked.remove(&it));
                if let Some(call) = call {
                    let said: Value = answer.json().read().unwrap();
                    self.answer(&call, text(&said.to_string()));
                }
            }
            Message::Notification { .. } => {}
        }
    }

    fn ask(&mut self, id: &Id, method: &str, params: Option<&Json>) {
        let params: Value = params.and_then(|it| it.read()).unwrap_or_default();
        let inner = self.server.0.clone();
        match method {
            "initialize" => {
                let mut can = json!({"tools": {"listChanged": true}, "logging": {},
                    "resources": {"subscribe": true, "listChanged": true}});
                inner.tasks.lock().unwrap().announce(&mut can, self.is_stateless());
                if inner.completes.load(Ordering::Relaxed) {
                    can["completions"] = json!({});
                }
                self.answer(
                    id,
                    json!({"protocolVersion": params["protocolVersion"], "capabilities": can,
                        "serverInfo": {"name": inner.name, "version": "1"}}),
                );
            }
            "tools/list" => {
                inner.lists.fetch_add(1, Ordering::Relaxed);
                // One of its tools is shown to one client only.
                let mut tools = inner.tools.lock().unwrap().clone();
                for tool in tools.iter_mut().filter(|it| it["name"] == "mine") {
                    tool["name"] = format!("mine{}", self.number).into();
                }
                self.answer(id, json!({"tools": tools}));
            }
            "resources/list" => {
                let uris = inner.resources.lock().unwrap();
                let uris: Vec<_> = uris.iter().map(|it| json!({"uri": it, "name": it})).collect();
                self.answer(id, json!({"resources": uris}));
            }
            "resources/templates/list" => self.answer(id, json!({"resourceTemplates": []})),
            "resources/read" => {
                let text = format!("{} {}", inner.name, params["uri"].as_str().unwrap());
                self.answer(id, json!({"contents": [{"uri": params["uri"], "text": text}]}));
            }
            "completion/complete" => {
                let values = json!([format!("{} {}", inner.name, params["ref"]["uri"])]);
                self.answer(id, json!({"completion": {"values": values}}));
            }
            "tools/call" => self.call(id, &params),
            "tasks/result" if params["taskId"].as_str() == Some(ASKING) => self.ask_in_task(id),
            _ if method.starts_with("tasks/") => {
                let answer = inner.tasks.lock().unwrap().answer(method, &params);
                let answer = answer.map(Json::from).map(Answer::Result);
                let answer = answer.unwrap_or_else(|| Answer::refusal(-32602, "no such task"));
                self.say(ParsedMessage::response(id, &answer), None);
            }
            "resources/subscribe" | "resources/unsubscribe" | "logging/setLevel" | "ping" => {
                self.answer(id, json!({}));
            }
            _ => self.say(ParsedMessage::response(id, &Answer::refusal(-32601, "no")), None),
        }
    }

    fn call(&mut self, id: &Id, params: &Value) {
        let inner = self.server.0.clone();
        match params["name"].as_str().unwrap() {
            "hang" => {}
            // Its first answer is lost.
            "look" if self.server.heard("look").len() == 1 => {}
            "megabyte" => self.answer(id, text(&"x".repeat(1 << 20))),
            "needy" => {
                let needed = json!({"code": -32021, "message": "it needs a model",
                    "data": {"requiredCapabilities": {"sampling": {}}}});
                self.say(ParsedMessage::response(id, &Answer::Error(Json::from(needed))), None);
            }
            "typed" => self.answer(id, json!({"content": [], "resultType": "of their own"})),
            "pair" => self.pair(id, &params["arguments"]),
            "who" => self.answer(id, text(&format!("{} {}", inner.name, self.number))),
            "work" => {
                let result = inner.tasks.lock().unwrap().begin(params, &inner.name);
                self.answer(id, result);
            }
            "ask" if self.is_stateless() && is_to_lie(params) => {
                let lie = json!({"code": -32000, "message": "no", "data": {"mayHaveRun": false}});
                self.say(ParsedMessage::response(id, &Answer::Error(Json::from(lie))), None);
            }
            "ask" if self.is_stateless() => self.answer(id, asked_in_rounds(params)),
            "ask" => {
                let number = 1000 + self.asked.len() as u64;
                self.asked.insert(number, id.clone());
                let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
                let message = params["arguments"]["say"].clone();
                let form = Json::from(json!({"message": message, "requestedSchema": schema}));
                let asked = ParsedMessage::request(
                    Id::of_number(number),
                    "elicitation/create",
                    Some(&form),
                );
                self.say(asked, Some(id.json().clone()));
            }
            "progress" => {
                let token = &params["_meta"]["progressToken"];
                for step in 1..=3 {
                    let step = json!({"progressToken": token, "progress": step, "total": 3});
                    let step = ParsedMessage::notification(
                        "notifications/progress",
                        Some(&Json::from(step)),
                    );
                    self.say(step, Some(id.json().clone()));
                }
                self.answer(id, text("done"));
            }
            _ => self.answer(id, text(&format!("{} {}", inner.name, params["arguments"]))),
        }
    }

    /// Answers a call when another of the same pair has come, and then the later one first.
    fn pair(&self, id: &Id, arguments: &Value) {
        let said = arguments["text"].as_str().unwrap().to_owned();
        let number = arguments["pair"].as_u64().unwrap();
        let mut pairs = self.server.0.pairs.lock().unwrap();
        match pairs.remove(&number) {
            None => drop(pairs.insert(number, (self.shared(), id.clone(), said))),
            Some((first, first_id, first_said)) => {
                drop(pairs);
                self.answer(id, text(&said));
                first.answer(&first_id, text(&first_said));
            }
        }
    }

    /// Asks something for a task, over the request for its result.
    fn ask_in_task(&mut self, id: &Id) {
        let number = 1000 + self.asked.len() as u64;
        self.asked.insert(number, id.clone());
        let form = json!({"message": "?", "requestedSchema": {"type": "object", "properties": {}},
            "_meta": {"io.modelcontextprotocol/related-task": {"taskId": ASKING}}});
        let asked = ParsedMessage::request(
            Id::of_number(number),
            "elicitation/create",
            Some(&Json::from(form)),
        );
        self.say(asked, Some(id.json().clone()));
    }

    fn is_stateless(&self) -> bool {
        self.server.0.is_stateless.load(Ordering::Relaxed)
    }

    fn shared(&self) -> Self {
        let (server, said) = (self.server.clone(), self.said.clone());
        Self { server, number: self.number, said, asked: BTreeMap::new() }
    }

    fn answer(&self, id: &Id, result: Value) {
        self.say(ParsedMessage::response(id, &Answer::Result(Json::from(result))), None);
    }

    fn say(&self, message: ParsedMessage, call: Option<Json>) {
        if let Some(said) = self.said.upgrade() {
            let _ = said.send((message, call));
        }
    }
}

/// Whether a call that has run is to be answered as if it had not.
fn is_to_lie(params: &Value) -> bool {
    params["arguments"]["say"] == "lie" && !params["inputResponses"].is_null()
}

/// Answers a call that asks something: in the first round with a question and a state, and then with what was
/// said to both.
fn asked_in_rounds(params: &Value) -> Value {
    if params["requestState"].is_null() && params["inputResponses"].is_null() {
        let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
        let form = json!({"message": params["arguments"]["say"], "requestedSchema": schema});
        let asked = json!({"method": "elicitation/create", "params": form});
        let mut result = json!({"resultType": "input_required", "inputRequests": {"who": asked}});
        if params["arguments"]["stateful"] != json!(false) {
            result["requestState"] = "st\u{e9}te".into();
        }
        return result;
    }
    text(&format!("{} {}", params["requestState"], params["inputResponses"]["who"]))
}

fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}
