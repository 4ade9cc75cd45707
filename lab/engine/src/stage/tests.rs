//! What rules do, over pipes and with paused time: requests and answers as bytes.

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

#[tokio::test(start_paused = true)]
async fn a_rule_answers_as_it_says_and_then_no_more() {
    let stage = stage(
        r#"times = 1
        do = [{ status = { code = 503, headers = { retry-after = "1" }, body = "id {{id}}" } }]"#,
    );
    let stage = stage.await;

    let (first, second) = (ask(&stage).await, ask(&stage).await);

    assert!(first.starts_with("HTTP/1.1 503"), "{first}");
    assert!(first.contains("retry-after: 1") && first.ends_with("id 7"), "{first}");
    assert!(second.starts_with("HTTP/1.1 200") && second.contains("\"text\":\"hi\""), "{second}");
    assert_eq!(stage.journal().runs.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_cut_where_the_rule_says_and_the_journal_tells_it() {
    let stage =
        stage(r#"do = ["run", "open", { event = { id = "e1" } }, { retry = "500" }, "cut"]"#);
    let stage = stage.await;

    let answer = ask(&stage).await;

    assert!(answer.contains("id: e1\ndata: \n\n") && answer.contains("retry: 500\n\n"), "{answer}");
    assert!(!answer.ends_with("0\r\n\r\n"), "{answer}");
    let journal = stage.journal();
    let deeds: Vec<_> = journal.requests[0].marks.iter().map(|it| it.deed.to_string()).collect();
    assert_eq!(deeds, ["ran", "stream opened", "sent nothing as e1", "sent retry", "cut"]);
    assert_eq!(journal.requests[0].what, "tools/call echo");
}

#[tokio::test(start_paused = true)]
async fn answers_on_a_stream_are_right_or_as_wrong_as_the_rule_says() {
    let stage = stage(
        r#"do = ["open", { answer = { to = 99, text = "foreign" } },
        { answer = { id = "e2", error = { code = -1, message = "no" } } }, { answer = {} }, "finish"]"#,
    );
    let stage = stage.await;

    let answer = ask(&stage).await;

    assert!(answer.contains(r#""id":99"#) && answer.contains("foreign"), "{answer}");
    assert!(answer.contains("id: e2\n") && answer.contains(r#""error":{"code":-1"#), "{answer}");
    assert!(answer.contains(r#""id":7,"jsonrpc":"2.0","result":{"content""#), "{answer}");
    assert!(answer.ends_with("0\r\n\r\n"), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn who_resumes_is_answered_as_the_one_who_asked() {
    let cut = r#"do = ["run", "open", { event = { id = "{{id}}-1" } }, "cut"]
        [[server.rule]]
        when = { resume = true }
        do = ["open", { answer = {} }, { raw = "for {{id}}" }, "finish"]"#;
    let stage = stage(cut).await;

    let (first, resumed) = (ask(&stage).await, resume(&stage, "7-1").await);
    let foreign = resume(&stage, "8-1").await;

    assert!(first.contains("id: 7-1\n"), "{first}");
    assert!(resumed.contains(r#""id":7,"#) && resumed.contains(r#""text":"hi""#), "{resumed}");
    assert!(resumed.contains("for 7"), "{resumed}");
    assert!(foreign.contains("for null"), "{foreign}");
}

#[tokio::test(start_paused = true)]
async fn the_right_answer_breaks_off_at_the_byte_that_the_rule_names() {
    let stage = stage(r#"do = ["run", { partial = { bytes = 5, of = "body" } }, "cut"]"#).await;

    let answer = ask(&stage).await;

    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("content-length: ") && !head.contains("content-length: 5"), "{head}");
    assert_eq!(body, "{\"id\"");
}

#[tokio::test(start_paused = true)]
async fn bytes_are_sent_in_slices_with_gaps() {
    let stage =
        stage(r#"do = [{ manner = { slice = 1, gap = 0.1 } }, { bytes = "41 42 43" }, "cut"]"#);
    let stage = stage.await;
    let began = Instant::now();

    let answer = ask(&stage).await;

    assert_eq!(answer, "ABC");
    assert!(began.elapsed() >= Duration::from_millis(200));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_goes_down_is_back_without_its_sessions() {
    let stage = stage(
        r#"times = 1
        do = ["pass", { down = 2.0 }]"#,
    )
    .await;
    ask(&stage).await;
    tokio::time::sleep(Duration::from_millis(1)).await;

    let refused = stage.dial("127.0.0.1:81").await.unwrap_err();
    tokio::time::sleep(Duration::from_secs(3)).await;

    assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    assert!(stage.dial("127.0.0.1:81").await.is_ok());
    let events: Vec<_> = stage.journal().events.into_iter().map(|it| it.what).collect();
    assert_eq!(events, ["down", "up"]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_starts_down_is_up_when_it_says() {
    let scenario = scenario("do = ['pass']").replace(
        "[[server.rule]]",
        "[server]\nstarts = 'down'\nup_after = 1.0\nsessionless = true\n[[server.rule]]",
    );
    let scenario = Scenario::read(&scenario).unwrap();
    let stage = Stage::open(&scenario, StageTransport::Pipes).await.unwrap();
    stage.begin();

    let refused = stage.dial("127.0.0.1:81").await.is_err();
    tokio::time::sleep(Duration::from_millis(1100)).await;

    assert!(refused);
    assert!(stage.dial("127.0.0.1:81").await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_closed_stage_stays_closed() {
    for rule in
        ["do = ['pass', { outage = { mood = 'down', lasts = 1.0 } }]", "do = [{ down = 1.0 }]"]
    {
        let stage = stage(rule).await;
        ask(&stage).await;
        tokio::time::sleep(Duration::from_millis(500)).await;

        stage.close().await;
        tokio::time::sleep(Duration::from_secs(2)).await;

        assert!(stage.dial("127.0.0.1:81").await.is_err(), "{rule}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_closed_stage_leaves_nothing_in_memory() {
    let stage = stage("do = ['pass']").await;
    ask(&stage).await;
    let threads = Arc::downgrade(&stage.main.threads);

    stage.close().await;
    drop(stage);

    assert!(threads.upgrade().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_server_changes_its_era_when_its_turn_comes_or_a_rule_says_so() {
    let server = "[server]\nsessionless = true\n[[server.turn]]\nafter = 2.0\nera = 'modern'\n";
    let acts = "[{ era = 'modern' }, { wait = 1.0 }, { era = 'legacy' }, 'pass']";
    let text = scenario(&format!("times = 1\ndo = {acts}"));
    let text = text.replacen("[[server.rule]]", &format!("{server}[[server.rule]]"), 1);
    let stage = Stage::open(&Scenario::read(&text).unwrap(), StageTransport::Pipes).await.unwrap();
    stage.begin();

    let (ruled, legacy) = (ask(&stage).await, ask(&stage).await);
    tokio::time::sleep(Duration::from_secs(2)).await;
    let modern = ask(&stage).await;

    assert!(ruled.starts_with("HTTP/1.1 200") && legacy.starts_with("HTTP/1.1 200"), "{legacy}");
    assert!(modern.starts_with("HTTP/1.1 400") && modern.contains("-32602"), "{modern}");
    let events: Vec<_> = stage.journal().events.into_iter().map(|it| it.what).collect();
    let (old, new) = ("speaks the legacy era", "speaks the stateless revision");
    assert_eq!(events, [new, old, new]);
}

#[tokio::test(start_paused = true)]
async fn a_tool_asks_for_input_as_its_inquiry_says() {
    let inquiry = "[[server.inquiry]]\ntool = 'echo'\nrounds = [{ state = 's' }]\n";
    let server = format!("[server]\nera = 'both'\nsessionless = true\n{inquiry}[[server.rule]]");
    let text = scenario("times = 0\ndo = []").replacen("[[server.rule]]", &server, 1);
    let stage = Stage::open(&Scenario::read(&text).unwrap(), StageTransport::Pipes).await.unwrap();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": "echo", "arguments": {"msg": "hi"}, "_meta": meta});
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
    let (body, close) = (call.to_string(), "connection: close");
    let routing = "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: echo";
    let head = format!("{close}\r\n{routing}\r\ncontent-length: {}", body.len());
    let request = format!("POST /mcp HTTP/1.1\r\n{head}\r\n\r\n{body}");

    let asked = exchange(&stage, &request).await;
    let legacy = ask(&stage).await;

    assert!(asked.contains(r#""requestState":"s","resultType":"input_required""#), "{asked}");
    assert!(legacy.contains(r#""text":"hi""#), "{legacy}");
    assert_eq!(stage.journal().runs.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_rule_for_a_time_ends_by_the_clock() {
    let stage = stage("lasts = 2.0\ndo = [{ status = { code = 502 } }]").await;

    let first = ask(&stage).await;
    tokio::time::sleep(Duration::from_millis(1900)).await;
    let second = ask(&stage).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    let third = ask(&stage).await;

    assert!(first.contains("502") && second.contains("502"), "{first} {second}");
    assert!(third.starts_with("HTTP/1.1 200"), "{third}");
}

#[tokio::test(start_paused = true)]
async fn a_rule_for_what_is_beyond_a_rate_lets_the_others_pass() {
    let stage = stage("beyond = 2\ndo = [{ status = { code = 429 } }]").await;

    let answers = [ask(&stage).await, ask(&stage).await, ask(&stage).await];
    tokio::time::sleep(Duration::from_secs(1)).await;
    let later = ask(&stage).await;

    let statuses = answers.map(|answer| answer[9..12].to_owned());
    assert_eq!(statuses, ["200", "200", "429"]);
    assert!(later.starts_with("HTTP/1.1 200"), "{later}");
}

#[tokio::test(start_paused = true)]
async fn a_padded_answer_is_right_and_as_long_as_it_says() {
    let stage = stage("do = [{ padded = 5000 }]").await;

    let answer = ask(&stage).await;

    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("content-length: 5000") && body.len() == 5000, "{head}");
    assert!(body.contains("\"text\":\"hi\""));
    assert_eq!(stage.journal().runs.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_coded_body_is_said_to_be_so() {
    let stage = stage("do = [{ status = { code = 200, body = '', coding = 'gzip' } }]").await;

    let mut pipe = stage.dial("127.0.0.1:81").await.unwrap();
    let head = "POST /mcp HTTP/1.1\r\nconnection: close\r\ncontent-length: ";
    let call = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"msg":"hi"}}}"#;
    let request = format!("{head}{}\r\n\r\n{call}", call.len());
    pipe.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    pipe.read_to_end(&mut answer).await.unwrap();

    assert!(String::from_utf8_lossy(&answer).contains("content-encoding: gzip\r\n"));
    assert!(answer.windows(2).any(|two| two == [0x1f, 0x8b]));
}

#[tokio::test(start_paused = true)]
async fn replicas_take_turns_with_connections_and_know_only_their_own_sessions() {
    let text = scenario("do = ['pass']").replacen(
        "[[server.rule]]",
        "[server]\nreplicas = 2\n[[server.rule]]",
        1,
    );
    let stage = Stage::open(&Scenario::read(&text).unwrap(), StageTransport::Pipes).await.unwrap();
    let post = |session: &str, body: &str| {
        let head = "POST /mcp HTTP/1.1\r\nconnection: close\r\ncontent-length: ";
        format!("{head}{}\r\n{session}\r\n{body}", body.len())
    };
    let initialize = post("", r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#);
    let ping = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
    let ping = post("mcp-session-id: lab-session-1\r\n", ping);

    let made = exchange(&stage, &initialize).await;
    let pings = [exchange(&stage, &ping).await, exchange(&stage, &ping).await];

    assert!(made.contains("mcp-session-id: lab-session-1"), "{made}");
    assert_eq!(pings.map(|answer| answer[9..12].to_owned()), ["404", "200"]);
}

async fn stage(rule: &str) -> Stage {
    let scenario = scenario(rule).replacen(
        "[[server.rule]]",
        "[server]\nsessionless = true\n[[server.rule]]",
        1,
    );
    Stage::open(&Scenario::read(&scenario).unwrap(), StageTransport::Pipes).await.unwrap()
}

fn scenario(rule: &str) -> String {
    format!(
        r#"
        id = "A1"
        title = "a test"
        why = "Because."
        control = {{ mistake = "naive", breaks = "it runs" }}
        client = []
        must = [{{ that = "it runs", runs = {{ tool = "echo", times = {{ exactly = 1 }} }} }}]
        [[server.rule]]
        when = {{ tool = "echo", args = {{ msg = "hi" }} }}
        {rule}
        "#
    )
}

/// Calls `echo` on a connection of its own and reads until the server closes it.
async fn ask(stage: &Stage) -> String {
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
        "params": {"name": "echo", "arguments": {"msg": "hi"}}});
    let body = call.to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    exchange(stage, &format!("{head}{body}")).await
}

/// Resumes a stream on a connection of its own and reads until the server closes it.
async fn resume(stage: &Stage, after: &str) -> String {
    let head = format!(
        "GET /mcp HTTP/1.1\r\nconnection: close\r\naccept: text/event-stream\r\n\
         last-event-id: {after}\r\n\r\n"
    );
    exchange(stage, &head).await
}

async fn exchange(stage: &Stage, request: &str) -> String {
    let mut pipe = stage.dial("127.0.0.1:81").await.unwrap();
    pipe.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // A reset is an end too.
    let _ = pipe.read_to_end(&mut answer).await;
    String::from_utf8(answer).unwrap()
}
