//! Attacks on the port that waits for the browser.

use std::sync::{Arc, Mutex};

use ridethrough::transport::BoxFuture;
use ridethrough_oauth::person::{LoginPrompt, Person};
use ridethrough_oauth::store::MemoryStore;
use ridethrough_oauth::{Account, OAuth, RedirectTo};
use tokio::sync::{Notify, mpsc};

use crate::support::{World, builder, consent, get, send};

#[tokio::test]
async fn requests_that_are_not_the_callback_are_answered_400_and_change_nothing() {
    let world = World::start().await;
    let mut login = Login::begin(&world).await;
    let (port, state) = (login.port(), login.parameter("state"));
    let host = format!("127.0.0.1:{port}");
    let good = format!("/callback?code=x&state={state}");

    let mut attacks = vec![
        format!("GET {good} HTTP/1.1\r\nhost: evil.example\r\n\r\n"),
        format!("GET {good} HTTP/1.1\r\nhost: evil.example:{port}\r\n\r\n"),
        format!("GET {good} HTTP/1.1\r\n\r\n"),
        format!("GET {good} HTTP/1.1\r\nhost: {host}\r\nhost: {host}\r\n\r\n"),
        format!("POST {good} HTTP/1.1\r\nhost: {host}\r\n\r\n"),
        format!("GET /other?code=x&state={state} HTTP/1.1\r\nhost: {host}\r\n\r\n"),
        format!("GET /callback?code=x HTTP/1.1\r\nhost: {host}\r\n\r\n"),
        format!("GET /callback?error=access_denied HTTP/1.1\r\nhost: {host}\r\n\r\n"),
        format!("GET /callback?code=x&state={state}&state=y HTTP/1.1\r\nhost: {host}\r\n\r\n"),
        "nonsense\r\n\r\n".to_owned(),
    ];
    attacks.extend((0..100).map(|number| {
        format!("GET /callback?code=x&state={number} HTTP/1.1\r\nhost: {host}\r\n\r\n")
    }));
    for attack in attacks {
        let answer = send(&host, &attack).await;
        assert_eq!(answer.status, 400, "{attack}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert!(answer.header("content-type").unwrap().starts_with("text/plain"));
    }

    assert_eq!(consent(&login.prompt.url).await.status, 200);
    login.done().await.unwrap();
}

#[tokio::test]
async fn words_of_a_request_are_never_in_the_answer() {
    let world = World::start().await;
    let login = Login::begin(&world).await;
    let (port, state) = (login.port(), login.parameter("state"));
    let script = "%3Cscript%3Ealert(1)%3C/script%3E";

    let wrong = get(&format!("http://127.0.0.1:{port}/callback?state={script}")).await;
    let url = format!("http://127.0.0.1:{port}/callback?state={state}&error={script}");
    let right = get(&url).await;

    for answer in [wrong, right] {
        assert!(!answer.body.contains("script"), "{}", answer.body);
        assert!(answer.header("content-type").unwrap().starts_with("text/plain"));
    }
}

#[tokio::test]
async fn a_callback_is_good_once() {
    let world = World::start().await;
    let mut login = Login::begin(&world).await;
    let location = get(&login.prompt.url).await.header("location").unwrap().to_owned();

    assert_eq!(get(&location).await.status, 200);
    login.done().await.unwrap();

    let host = location.strip_prefix("http://").unwrap().split('/').next().unwrap();
    assert!(tokio::net::TcpStream::connect(host).await.is_err(), "the listener is still there");
    assert_eq!(world.token_forms("authorization_code").len(), 1);
}

#[tokio::test]
async fn a_crowd_of_idle_connections_does_not_keep_the_browser_out() {
    let world = World::start().await;
    let mut login = Login::begin(&world).await;
    let mut idle = Vec::new();
    for _ in 0..20 {
        idle.push(tokio::net::TcpStream::connect(("127.0.0.1", login.port())).await.unwrap());
    }

    assert_eq!(consent(&login.prompt.url).await.status, 200);

    login.done().await.unwrap();
}

#[tokio::test]
async fn a_port_that_somebody_else_holds_is_not_shared() {
    let world = World::start().await;
    let squatter = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = Some(squatter.local_addr().unwrap().port());
    let oauth = oauth().redirect(RedirectTo { port, ..RedirectTo::default() });
    let shown = Arc::new(Notify::new());
    let account = oauth.person(Pasting::new(shown)).account(&builder(&world)).unwrap();

    let error = account.log_in().await.unwrap_err();

    assert!(error.to_string().contains("port"), "{error}");
    assert_eq!(world.count("one", "/authorize"), 0);
}

#[tokio::test]
async fn a_callback_that_is_pasted_ends_the_login_and_nonsense_does_not() {
    let world = World::start().await;
    let person = Pasting::new(Arc::new(Notify::new()));
    let (pastes, account) = (person.pastes.clone(), account(&world, person.clone()));
    let logging_in = tokio::spawn(async move { account.log_in().await });
    person.shown.notified().await;
    let url = person.url.lock().unwrap().clone().unwrap();
    let location = get(&url).await.header("location").unwrap().to_owned();

    pastes.send("skip".to_owned()).unwrap();
    pastes.send("http://127.0.0.1/callback?code=x&state=y".to_owned()).unwrap();
    pastes.send(format!("  {location}\n")).unwrap();

    logging_in.await.unwrap().unwrap();
}

/// A login whose URL has been shown, and that waits for its callback.
struct Login {
    prompt: LoginPrompt,
    done: tokio::task::JoinHandle<Result<(), String>>,
}

impl Login {
    async fn begin(world: &World) -> Self {
        let (sender, mut prompts) = mpsc::unbounded_channel();
        let person = ridethrough_oauth::person::from_fn(move |prompt: &LoginPrompt| {
            sender.send(prompt.clone()).unwrap();
        });
        let account = account(world, person);
        let done = tokio::spawn(async move {
            account.log_in().await.map(drop).map_err(|error| error.to_string())
        });
        Self { prompt: prompts.recv().await.unwrap(), done }
    }

    fn parameter(&self, name: &str) -> String {
        let query = self.prompt.url.split_once('?').unwrap().1;
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(it, _)| *it == name).unwrap().1.to_owned()
    }

    fn port(&self) -> u16 {
        let uri = self.parameter("redirect_uri");
        uri.split("%3A").last().unwrap().split("%2F").next().unwrap().parse().unwrap()
    }

    async fn done(&mut self) -> Result<(), String> {
        (&mut self.done).await.unwrap()
    }
}

/// A person whose browser is on another machine.
#[derive(Clone)]
struct Pasting {
    shown: Arc<Notify>,
    url: Arc<Mutex<Option<String>>>,
    pastes: mpsc::UnboundedSender<String>,
    received: Arc<tokio::sync::Mutex<mpsc::UnboundedReceiver<String>>>,
}

impl Pasting {
    fn new(shown: Arc<Notify>) -> Self {
        let (pastes, received) = mpsc::unbounded_channel();
        let received = Arc::new(tokio::sync::Mutex::new(received));
        Self { shown, url: Arc::default(), pastes, received }
    }
}

impl Person for Pasting {
    fn show<'a>(&'a self, prompt: &'a LoginPrompt) -> BoxFuture<'a, ()> {
        *self.url.lock().unwrap() = Some(prompt.url.clone());
        self.shown.notify_one();
        Box::pin(async {})
    }

    fn pasted(&self) -> BoxFuture<'_, String> {
        Box::pin(async { self.received.lock().await.recv().await.unwrap() })
    }
}

fn account(world: &World, person: impl Person) -> Account {
    oauth().person(person).account(&builder(world)).unwrap()
}

fn oauth() -> OAuth {
    OAuth::new("test app").store(MemoryStore::default())
}
