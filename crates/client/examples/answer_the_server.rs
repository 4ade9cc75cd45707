//! Answers a server's questions: a person fills in a form, a model continues a conversation.
//!
//! ```text
//! cargo run -p ridethrough --example answer_the_server
//! ```
//!
//! It starts a small server of its own, whose tool `book` asks for a date in the middle of a call and reports
//! its progress meanwhile.

use ridethrough::Client;
use ridethrough::model::{Elicited, Notification, Root, SamplingResult};
use ridethrough_lab::{Ask, Mcp, Protocol, Server, Times, When};
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mcp = Mcp::new();
    mcp.rule(When::tool("book"), Times::Always, book);
    let server = Server::new(Protocol::Http1, mcp);
    let url = format!("http://{}/mcp", server.listen().await?);

    let client = Client::builder(&url)
        .on_form(|form| async move {
            println!("the server asks: {}", form.message);
            // Fields that are left out get the default of the form's schema.
            Elicited::filled_in(json!({ "date": "2026-12-24" }))
        })
        .on_sampling(|_| async { Ok(SamplingResult::text("our-model", "yes")) })
        .roots([Root::new("file:///tmp/trip").named("trip")])
        .build()?;
    let mut notifications = client.notifications();

    let (call, mut progress) = client.call_tool("book", json!({ "to": "Rome" })).with_progress();
    let watching = async {
        while let Some(step) = progress.next().await {
            println!("progress {step}");
        }
    };
    let (result, ()) = tokio::join!(call.into_future(), watching);
    println!("book said: {}", result?.text());
    if let Some(Notification::Log(message)) = notifications.next().await {
        println!("the log said: {}", message.data.as_str());
    }
    client.close().await;
    Ok(())
}

/// Asks for the date, waits for the answer and books.
async fn book(ask: Ask) {
    let mcp = ask.mcp().clone();
    let token = ask.params()["_meta"]["progressToken"].clone();
    let to = ask.arguments()["to"].as_str().unwrap_or("nowhere").to_owned();
    let mut sse = ask.sse().await;
    let schema = json!({ "type": "object", "properties": {
        "date": { "type": "string" },
        "class": { "type": "string", "default": "economy" },
    }});
    let form = json!({ "message": "when do you want to go?", "requestedSchema": schema });
    let question = json!({ "id": "q", "method": "elicitation/create", "params": form });
    sse.message(None, &of_2_0(question)).await;
    let form = loop {
        let log = mcp.log();
        if let Some(answer) = log.iter().find(|entry| When::response().holds(entry)) {
            let answer: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
            break answer["result"]["content"].clone();
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    };
    let steps = json!({ "progressToken": token, "progress": 1, "total": 1, "message": "booking" });
    sse.message(None, &of_2_0(json!({ "method": "notifications/progress", "params": steps })))
        .await;
    let log = json!({ "level": "info", "data": "one seat less" });
    sse.message(None, &of_2_0(json!({ "method": "notifications/message", "params": log }))).await;
    let text = format!("{to} on {} in {}", form["date"], form["class"]);
    sse.answer_and_finish(json!({ "content": [{ "type": "text", "text": text }] })).await;
}

fn of_2_0(mut message: Value) -> Value {
    message["jsonrpc"] = json!("2.0");
    message
}
