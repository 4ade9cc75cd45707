//! The bridge to a server that wants a login, over real sockets.

#![cfg(test)]

mod asking;
mod living;
mod needed;
#[path = "../bridge/rig.rs"]
#[expect(dead_code, reason = "tests of the bridge without a login use the rest")]
mod rig;
mod scope;
mod stage;
mod stateless;
#[path = "../../../oauth/tests/oauth/support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "tests of logins without a bridge use the rest")]
mod support;
