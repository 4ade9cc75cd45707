//! Calls with the client under test, as a program with the library does.

use ridethrough::{Client, Error};
use tokio::time::{Instant, sleep, timeout};

use crate::case::{Case, DEADLINE, Ended, GRACE, LIST_LIMIT};

/// Makes the call with a client of its own, and with its default settings.
pub(crate) async fn call(url: &str, case: &Case) -> Ended {
    let client = match Client::new(url) {
        Ok(client) => client,
        Err(error) => return Ended::NotMade(error.to_string()),
    };
    if let Err(error) = list(&client).await {
        return Ended::NotMade(error.to_string());
    }
    let call = client.call_tool(case.tool.name(), case.arguments()).timeout(DEADLINE);
    let ended = timeout(DEADLINE + GRACE, call.into_future()).await;
    // Nothing of it is looked at.
    let _ = timeout(GRACE, client.close()).await;
    ended.map_or(Ended::Hung, of)
}

/// Lists the tools, so that the client knows which of them only read; a proxy that has just seen another call
/// fail may need a moment.
async fn list(client: &Client) -> Result<(), Error> {
    let began = Instant::now();
    loop {
        match client.tools().timeout(LIST_LIMIT).await {
            Ok(_) => return Ok(()),
            Err(error) if began.elapsed() > DEADLINE => return Err(error),
            Err(_) => sleep(GRACE / 20).await,
        }
    }
}

/// Returns how a call ended that ended so.
pub(crate) fn of(outcome: Result<ridethrough::model::ToolResult, Error>) -> Ended {
    match outcome {
        Ok(result) => Ended::Answered(result.text()),
        Err(error) if error.may_have_run() => Ended::Doubt(error.report()),
        Err(error) => Ended::Refused(error.report()),
    }
}
