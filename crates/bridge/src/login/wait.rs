//! Calls that wait for a login.

use ridethrough_wire::message::Json;
use tokio::sync::watch;

/// What calls find that want to go out.
#[derive(Clone, Debug)]
pub(crate) enum Gate {
    /// Somebody must log in.
    Closed,
    /// Calls go out.
    Open,
    /// The host can show this page.
    Page(Json),
    /// A login was begun; its page is not known yet.
    UnderWay,
}

/// What a call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// The end of the login: the host was sent the page, or was told of it.
    Login,
    /// The page: it is the answer to the call.
    Page,
}

/// How the wait of a call ended.
#[derive(Debug)]
pub(crate) enum Passed {
    GoOn,
    LoginNeeded,
    Page(Json),
}

/// Waits for the login.
pub(crate) async fn pass(mut gate: watch::Receiver<Gate>, wait: Wait) -> Passed {
    let is_over = |gate: &Gate| match gate {
        Gate::Closed | Gate::Open => true,
        Gate::Page(_) => wait == Wait::Page,
        Gate::UnderWay => false,
    };
    let found = gate.wait_for(is_over).await.map(|gate| gate.clone());
    match found {
        Ok(Gate::Open) => Passed::GoOn,
        Ok(Gate::Page(page)) => Passed::Page(page),
        // Without a router there is no login.
        Ok(Gate::Closed | Gate::UnderWay) | Err(_) => Passed::LoginNeeded,
    }
}
