//! The login of a bridge: mcp-remote's flags in the settings, and how people are told to log in.

use ridethrough::error::{CallError, Kind};
use ridethrough_bridge::{Bridge, LoginAdvice};
use ridethrough_oauth::Account;

use crate::misuse::Misuse;
use crate::next_step::{self, Spoken};
use crate::oauth::{FlagSources, OAuthFlags, OAuthSettings};
use crate::options::Settings;
use crate::target::Target;

/// Puts the login flags into the settings. `port` is the one that mcp-remote takes behind the URL.
pub(super) fn take_flags(
    flags: &OAuthFlags,
    port: Option<&str>,
    settings: &mut Settings,
) -> Result<(), Misuse> {
    let variable = |name: &str| std::env::var(name).ok();
    let said = flags.settings(FlagSources { variable: &variable, may_read: true });
    let said = said.map_err(|what| wrong(what, "`ridethrough bridge --help` lists the flags"))?;
    let port = port.map(read_port).transpose()?;
    let profile = settings.oauth.profile.take();
    let redirect_port = said.redirect_port.or(port);
    settings.oauth = OAuthSettings { profile, redirect_port, ..said };
    Ok(())
}

fn read_port(word: &str) -> Result<u16, Misuse> {
    let port = word.parse().ok().filter(|port| *port > 0);
    port.ok_or_else(|| {
        // The word may be anything, a secret too.
        let what = "what stands behind the URL is no port from 1 to 65535";
        wrong(what.to_owned(), "it is the port for the browser to come back to; leave it out")
    })
}

fn wrong(what: String, hint: &str) -> Misuse {
    Misuse { what, tried: "nothing was sent".to_owned(), hint: hint.to_owned() }
}

/// Lets the bridge take its tokens from this account, and say how a person logs in to it.
pub(super) fn with_account(
    bridge: Bridge,
    account: Option<Account>,
    target: &Target,
    spoken: Spoken,
) -> Bridge {
    let Some(account) = account else {
        return bridge.advise(move |error| next_step::in_full(error, &spoken));
    };
    let command = spoken.command("login", "");
    let advice = LoginAdvice { server: target.word(), url: target.to_string(), command };
    let bridge = bridge.account(account.clone(), advice);
    bridge.advise(move |error| {
        more_scope(error, &account, &spoken).or_else(|| next_step::in_full(error, &spoken))
    })
}

/// Returns how a person logs in for the scope that a call lacked.
fn more_scope(error: &CallError, account: &Account, spoken: &Spoken) -> Option<String> {
    let scopes = account.wanted_scope().filter(|_| error.kind == Kind::Unauthorized)?;
    let words = format!("--scope {}", next_step::quoted(&scopes));
    Some(format!("`{}` asks for it; other calls go on", spoken.command("login", &words)))
}
