//! Messages reach the side that they are for, and are not changed on the way.

use ridethrough_bridge::{DoubtForm, Hidden};
use ridethrough_lab::{Times, When};
use serde_json::{Value, json};

use crate::rig::{Rig, doubt_in, methods, secs};

#[tokio::test(start_paused = true)]
async fn payloads_pass_byte_for_byte_both_ways() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    rig.mcp.rule(When::tool("odd"), Times::Always, |ask| async move {
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{ODD}}}"#, ask.id());
        ask.json(answer).await;
    });
    let params = format!(r#"{{"name":"odd","arguments":{ODD}}}"#);

    let id = r#""an \u00e9 id""#;
    host.say(format!(r#"{{"method":"tools/call","params":{params},"id":{id}}}"#)).await;
    let answer = host.hear().await;

    assert_eq!(answer, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{ODD}}}"#));
    let sent = &rig.bodies(&When::tool("odd"))[0];
    assert!(sent.ends_with(&format!(r#""params":{params}}}"#)), "{sent}");
}

/// Only revisions without sessions give that member a meaning.
#[tokio::test(start_paused = true)]
async fn a_result_of_a_session_passes_whatever_type_it_names() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    for (id, kind) in [(1, "of their own"), (2, "input_required"), (3, "task")] {
        let result = format!(r#"{{"content":[],"resultType":"{kind}"}}"#);
        let passed = result.clone();
        rig.mcp.rule(When::tool("typed"), Times::Once, move |ask| {
            let answer = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, ask.id());
            ask.json(answer)
        });

        host.call(id, "typed").await;

        let expected = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{passed}}}"#);
        assert_eq!(host.hear().await, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_of_the_server_passes_byte_for_byte() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    let error = r#"{"code":-32050 ,"message":"not you","data":{"n":1.10}}"#;
    rig.mcp.rule(When::tool("no"), Times::Once, move |ask| async move {
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, ask.id());
        ask.json(answer).await;
    });

    host.call(1, "no").await;

    assert_eq!(host.hear().await, format!(r#"{{"jsonrpc":"2.0","id":1,"error":{error}}}"#));
}

#[tokio::test(start_paused = true)]
async fn a_thousand_random_messages_pass_byte_for_byte_and_each_has_one_answer() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    // The server repeats the arguments byte for byte.
    rig.mcp.rule(When::tool("mirror"), Times::Always, |ask| async move {
        let body = String::from_utf8(ask.entry.body.to_vec()).unwrap();
        let given = body.split_once(r#""arguments":"#).unwrap().1.strip_suffix("}}").unwrap();
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{given}}}"#, ask.id());
        ask.json(answer).await;
    });
    let mut chance = Chance(7);

    for round in 0..50 {
        let mut expected: Vec<String> = Vec::new();
        for number in 0..20 {
            let (id, payload) = (round * 20 + number + 1, chance.object(4));
            host.say(format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"mirror","arguments":{payload}}}}}"#
            ))
            .await;
            expected.push(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{payload}}}"#));
        }
        let mut answers = Vec::new();
        for _ in 0..20 {
            answers.push(host.hear().await);
        }
        answers.sort();
        expected.sort();
        assert_eq!(answers, expected);
    }

    assert!(host.hear_for(secs(60)).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_result_of_ten_megabytes_passes() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    rig.mcp.rule(When::tool("large"), Times::Once, |ask| async move {
        let result = ask.result(json!({"text": "x".repeat(10 << 20)}));
        ask.json(result).await;
    });

    host.call(1, "large").await;
    let answer = host.hear().await;

    assert!(answer.len() > 10 << 20 && answer.ends_with(r#"xx"}}"#));
}

#[tokio::test(start_paused = true)]
async fn the_host_is_greeted_in_its_own_revision_and_the_server_knows_who_it_is() {
    let rig = Rig::new();
    let mut host = rig.host();

    let greeting = host.greet().await;

    let result = &greeting["result"];
    assert_eq!(result["protocolVersion"], "2025-06-18");
    assert_eq!(result["serverInfo"]["name"], "ridethrough-lab");
    assert_eq!(
        result["capabilities"]["resources"],
        json!({"listChanged": true, "subscribe": true})
    );
    let asked: Value = serde_json::from_str(&rig.bodies(&When::method("initialize"))[0]).unwrap();
    assert_eq!(asked["params"]["protocolVersion"], "2025-11-25");
    assert_eq!(asked["params"]["clientInfo"], json!({"name": "host", "version": "1.10"}));
    let capabilities = json!({"sampling": {}, "roots": {"listChanged": true}});
    assert_eq!(asked["params"]["capabilities"], capabilities);
    assert_eq!(rig.count(When::notification("notifications/initialized")), 1);
}

#[tokio::test(start_paused = true)]
async fn a_slow_call_holds_up_no_other() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    rig.mcp.rule(When::tool("slow"), Times::Once, |ask| async {
        tokio::time::sleep(secs(30)).await;
        ask.pass().await;
    });

    host.call(1, "slow").await;
    host.call(2, "echo").await;

    assert_eq!(host.hear_json().await["id"], 2);
    assert_eq!(host.hear_json().await["id"], 1);
}

#[tokio::test(start_paused = true)]
async fn progress_comes_under_the_hosts_own_token_and_before_the_answer() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    rig.mcp.rule(When::tool("build"), Times::Once, |ask| async {
        let token = ask.params()["_meta"]["progressToken"].clone();
        let mut sse = ask.sse().await;
        for step in 1..=3 {
            let params = json!({"progressToken": token, "progress": step});
            let message =
                json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params});
            sse.message(None, &message).await;
        }
        sse.answer_and_finish(json!({})).await;
    });

    let params = json!({"name": "build", "_meta": {"progressToken": "mine"}});
    host.ask(1, "tools/call", params).await;

    for step in 1..=3 {
        let told = host.hear_json().await;
        assert_eq!(told["params"], json!({"progressToken": "mine", "progress": step}));
    }
    assert_eq!(host.hear_json().await["id"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_the_host_takes_back_has_no_answer_and_the_server_is_told() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    rig.mcp.rule(When::tool("slow"), Times::Once, |ask| async {
        ask.sse().await.gone().await;
    });

    host.call("seven", "slow").await;
    tokio::time::sleep(secs(1)).await;
    let params = json!({"requestId": "seven", "reason": "enough"});
    host.say(
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
            .to_string(),
    )
    .await;

    assert!(host.hear_for(secs(1000)).await.is_empty());
    let told = rig.bodies(&When::notification("notifications/cancelled"));
    let told: Value = serde_json::from_str(&told[0]).unwrap();
    let call: Value = serde_json::from_str(&rig.bodies(&When::tool("slow"))[0]).unwrap();
    assert_eq!(told["params"]["requestId"], call["id"]);
    assert_eq!(host.asked(8, "tools/call", json!({"name": "echo"})).await["error"], Value::Null);
}

/// A host's JSON library may write an id in another way when it cancels.
#[tokio::test(start_paused = true)]
async fn a_call_is_taken_back_however_its_id_is_spelled() {
    for (id, spelled) in [(r#""a/b""#, r#""a\/b""#), (r#""a\/b""#, r#""a/b""#), ("1", "1.0")] {
        let rig = Rig::new();
        let mut host = rig.greeted().await;
        rig.mcp.rule(When::tool("slow"), Times::Once, |ask| async {
            ask.sse().await.gone().await;
        });
        let params = r#"{"name":"slow"}"#;

        host.say(format!(r#"{{"id":{id},"method":"tools/call","params":{params}}}"#)).await;
        tokio::time::sleep(secs(1)).await;
        let params = format!(r#"{{"requestId":{spelled}}}"#);
        host.say(format!(r#"{{"method":"notifications/cancelled","params":{params}}}"#)).await;

        assert!(host.hear_for(secs(1000)).await.is_empty(), "{id} {spelled}");
        assert_eq!(rig.count(When::notification("notifications/cancelled")), 1, "{id} {spelled}");
    }
}

/// The bytes go on, and the server may read the other of the two names.
#[tokio::test(start_paused = true)]
async fn a_call_that_can_be_read_in_two_ways_does_not_reach_the_server() {
    let rig = Rig::new();
    let mut host = rig.host_of(|bridge| bridge.hide(Hidden::new(["secret"])));
    host.greet().await;
    for line in [
        r#"{"id":1,"method":"tools/call","params":{"name":"secret","name":"echo"}}"#,
        r#"{"id":1,"method":"tools/call","params":{"name":"echo","Name":"secret"}}"#,
        r#"{"id":1,"method":"ping","method":"tools/call","params":{"name":"echo"}}"#,
        r#"{"id":1,"id":2,"method":"tools/call","params":{"name":"echo"}}"#,
    ] {
        host.say(line.to_owned()).await;

        let refused = host.hear_json().await;
        assert_eq!((&refused["id"], &refused["error"]["code"]), (&Value::Null, &json!(-32600)));
    }
    assert_eq!(rig.count(When::method("tools/call")), 0);
}

#[tokio::test(start_paused = true)]
async fn a_question_of_the_server_reaches_the_host_and_its_answer_comes_back_once() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    let params = r#"{"messages":[],"maxTokens":5e0}"#;
    rig.mcp.rule(When::tool("think"), Times::Once, move |ask| async move {
        let mcp = ask.mcp().clone();
        let mut sse = ask.sse().await;
        let question = r#"{"jsonrpc":"2.0","id":"q-1","method":"sampling/createMessage","params":"#;
        sse.event(None, &format!("{question}{params}}}")).await;
        while mcp.count(&When::response()) == 0 {
            tokio::time::sleep(secs(1)).await;
        }
        sse.answer_and_finish(json!({})).await;
    });

    host.call(1, "think").await;
    let question = host.hear().await;
    let id = serde_json::from_str::<Value>(&question).unwrap()["id"].clone();
    assert!(
        question.ends_with(&format!(r#""method":"sampling/createMessage","params":{params}}}"#))
    );
    for _ in 0..2 {
        host.say(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"n":1.10}}}}"#)).await;
    }

    assert_eq!(host.hear_json().await["id"], 1);
    let answers = rig.bodies(&When::response());
    assert_eq!(answers, [r#"{"jsonrpc":"2.0","id":"q-1","result":{"n":1.10}}"#]);
}

#[tokio::test(start_paused = true)]
async fn a_question_that_nobody_waits_for_any_more_is_taken_back() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    rig.mcp.rule(When::tool("think"), Times::Once, |ask| async {
        let mut sse = ask.sse().await;
        sse.message(None, &json!({"jsonrpc": "2.0", "id": 9, "method": "roots/list"})).await;
        tokio::time::sleep(secs(1)).await;
        sse.answer_and_finish(json!({})).await;
    });

    host.call(1, "think").await;
    let question = host.hear_json().await;
    let rest = host.hear_for(secs(10)).await;

    let taken_back = rest.iter().find(|it| it["method"] == "notifications/cancelled").unwrap();
    assert_eq!(taken_back["params"]["requestId"], question["id"]);
    assert_eq!(rest.iter().filter(|it| it["id"] == 1).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn notifications_pass_both_ways() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    tokio::time::sleep(secs(1)).await;

    let params = json!({"level": "info", "data": {"n": 1}});
    let message = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": params});
    assert_eq!(rig.mcp.push(message.clone()).await, 1);
    host.say(r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#).await;
    host.say(r#"{"jsonrpc":"2.0","method":"own/word","params":{"n":1.10}}"#).await;

    assert_eq!(host.hear_json().await, message);
    tokio::time::sleep(secs(1)).await;
    assert_eq!(rig.count(When::notification("notifications/roots/list_changed")), 1);
    let own = rig.bodies(&When::notification("own/word"));
    assert_eq!(own, [r#"{"jsonrpc":"2.0","method":"own/word","params":{"n":1.10}}"#]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_may_have_run_says_so_in_words_for_a_model_and_facts_in_its_meta() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    rig.mcp.rule(When::tool("deploy"), Times::Always, |ask| async {
        ask.run();
        ask.sse().await.cut().await;
    });

    host.call(1, "deploy").await;
    let answer = host.hear_json().await;

    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let text = "The answer was lost on its way. The tool may have run. \
                Look whether it took effect before you call it again, or ask the user.";
    assert_eq!(answer["result"]["content"], json!([{"type": "text", "text": text}]));
    assert_eq!(answer["result"].as_object().unwrap().len(), 3, "{answer}");
    let data = doubt_in(&answer);
    assert_eq!((&data["kind"], &data["mayHaveRun"]), (&json!("interrupted"), &json!(true)));
    assert_eq!((&data["attempts"], &data["retryAfterMs"]), (&json!(1), &Value::Null));
    assert!(data["elapsedMs"].is_u64());
    assert_eq!(rig.mcp.executions("deploy"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_wants_errors_is_told_doubt_as_one_with_a_code_of_its_own() {
    let rig = Rig::new();
    let mut host = rig.host_of(|bridge| bridge.doubt(DoubtForm::Error));
    host.greet().await;
    runs_and_cuts(&rig, "deploy");

    host.call(1, "deploy").await;
    let error = host.hear_json().await["error"].clone();

    assert_eq!((&error["code"], &error["data"]["mayHaveRun"]), (&json!(-32050), &json!(true)));
    assert_eq!(rig.mcp.executions("deploy"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_asks_for_a_task_is_told_its_doubt_as_an_error() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    runs_and_cuts(&rig, "deploy");

    let params = json!({"name": "deploy", "task": {}});
    let error = host.asked(1, "tools/call", params).await["error"].clone();

    assert_eq!((&error["code"], &error["data"]["mayHaveRun"]), (&json!(-32050), &json!(true)));
}

#[tokio::test(start_paused = true)]
async fn hidden_tools_are_neither_listed_nor_called() {
    let rig = Rig::new();
    let mut host = rig.host_of(|bridge| bridge.hide(Hidden::new(["De*", "*ut"])));
    host.greet().await;

    let list = host.asked(1, "tools/list", json!({})).await;
    let call = host.asked(2, "tools/call", json!({"name": "deploy"})).await;

    let tools = list["result"]["tools"].as_array().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["echo", "add", "read"]);
    assert_eq!(call["error"]["code"], -32602);
    assert_eq!(rig.mcp.executions("deploy"), 0);
}

#[tokio::test(start_paused = true)]
async fn what_is_no_message_is_refused_and_the_next_one_is_not() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;

    host.say("{nonsense").await;
    let not_json = host.hear_json().await;
    host.say(r#"{"jsonrpc":"2.0","id":5}"#).await;
    let not_rpc = host.hear_json().await;
    let large = "x".repeat(17 << 20);
    host.ask(6, "tools/call", json!({"name": "echo", "arguments": {"msg": large}})).await;
    let too_large = host.hear_json().await;
    let modern = host.asked(7, "server/discover", json!({})).await;
    let ping = host.asked(8, "ping", json!({})).await;

    assert_eq!((&not_json["id"], &not_json["error"]["code"]), (&Value::Null, &json!(-32700)));
    assert_eq!((&not_rpc["id"], &not_rpc["error"]["code"]), (&json!(5), &json!(-32600)));
    assert_eq!((&too_large["id"], &too_large["error"]["code"]), (&json!(6), &json!(-32600)));
    assert_eq!(modern["error"]["code"], -32602, "it says nothing of itself");
    assert_eq!(ping["result"], json!({}));
    assert_eq!(rig.mcp.executions("echo"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_stops_talking_holds_up_no_answer() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    rig.mcp.rule(When::tool("chatter"), Times::Once, |ask| async {
        let mut sse = ask.sse().await;
        let message =
            json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": 1}});
        while sse.message(None, &message).await {
            tokio::task::yield_now().await;
        }
    });

    host.call(1, "chatter").await;
    host.call(2, "echo").await;
    let mut heard = Vec::new();
    while heard.len() < 20_000 && heard.last().is_none_or(|it: &Value| it["id"] != 2) {
        heard.push(host.hear_json().await);
    }

    assert_eq!(heard.last().unwrap()["id"], 2);
    assert!(methods(&heard).len() + 1 == heard.len());
}

/// JSON in a spelling that no library writes.
const ODD: &str =
    r#"{ "z":1.10, "a":123456789012345678901234567890, "a":2,"x":"\u00e9\/", "e":[ 1e2 ,-0.0] }"#;

/// A generator of random JSON, which is equal in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn object(&mut self, depth: u64) -> String {
        let count = self.below(4);
        let members: Vec<_> =
            (0..count).map(|_| format!("{}:{}", self.text(), self.value(depth))).collect();
        let gap = ["", " ", "\t"][self.below(3) as usize];
        format!("{{{gap}{}{gap}}}", members.join(&format!(",{gap}")))
    }

    fn value(&mut self, depth: u64) -> String {
        match self.below(if depth == 0 { 5 } else { 7 }) {
            0 => self.text(),
            1 => format!("{}.{}0", self.below(1000), self.below(100)),
            2 => format!("-{}e{}", self.below(9) + 1, self.below(30)),
            3 => "9".repeat(1 + self.below(40) as usize),
            4 => ["true", "false", "null"][self.below(3) as usize].to_owned(),
            5 => self.object(depth - 1),
            _ => {
                let elements: Vec<_> = (0..self.below(4)).map(|_| self.value(depth - 1)).collect();
                format!("[{}]", elements.join(" ,"))
            }
        }
    }

    fn text(&mut self) -> String {
        let pieces = ["a", "é", "\\u00e9", "\\n", "\\\"", "\\/", "\u{2028}", "💡", "id", "method"];
        let text: String =
            (0..self.below(6)).map(|_| pieces[self.below(pieces.len() as u64) as usize]).collect();
        format!("\"{text}\"")
    }
}

/// The tool runs, and its answer is lost.
fn runs_and_cuts(rig: &Rig, tool: &str) {
    rig.mcp.rule(When::tool(tool), Times::Always, |ask| async {
        ask.run();
        ask.sse().await.cut().await;
    });
}
