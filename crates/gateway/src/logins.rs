//! Logins of principals: where each principal has a login of its own at a server, a person logs in for it once.
//!
//! ```text
//!   call ──no login──▶ ticket ──its URL is opened──▶ the gateway's own page ──"go on"──▶ authorization server
//!                                                                                              │
//!   call goes on ◀── tokens, stored for this principal alone ◀── /oauth/callback ◀─────────────┘
//! ```
//! Every principal shares the gateway's client at the authorization server, which may let a known client pass
//! without a question. So the gateway asks the person itself, before every redirect, who wants to use what
//! (confused deputy). A ticket is for one principal, client and server, and good once. The form counts only from
//! the page that was shown last, and the callback only in the browser that sent the form.

mod html;
mod person;
mod principal_login;
mod tickets;

pub(crate) use html::{ConsentPage, PageNotice, redirect};
pub(crate) use person::CallbackEnd;
pub(crate) use principal_login::{Begun, PrincipalLogin, profile};
pub(crate) use tickets::{AskedFor, LoginSubject, NoConsent, ShownPage, TicketId, Tickets};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Returns a text of 256 bits that cannot be guessed.
pub(crate) fn random_text() -> String {
    let mut bytes = [0; 32];
    aws_lc_rs::rand::fill(&mut bytes).expect("the operating system has randomness");
    URL_SAFE_NO_PAD.encode(bytes)
}
