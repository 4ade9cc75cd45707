//! The login of a bridge: mcp-remote's flags in the settings, and how people are told to log in.

use ridethrough::error::{CallError, Kind};
use ridethrough_bridge::{Bridge, LoginAdvice};
use ridethrough_config::login::OAuthSettings;
use ridethrough_oauth::Account;

use crate::ending::next_step::{self, Spoken};
use crate::misuse::Misuse;
use crate::oauth::OAuthFlags;
use crate::options::Settings;
use crate::safe;
use crate::server::target::Target;

/// Puts the login flags into the settings. `port` is the one that mcp-remote takes behind the URL.
pub(super) fn take_flags(
    flags: &OAuthFlags,
    port: Option<&str>,
    settings: &mut Settings,
) -> Result<(), Misuse> {
    let said = flags
        .settings()
        .map_err(|what| wrong(what, "`ridethrough bridge --help` lists the flags"))?;
    let redirect_port = said.redirect_port.or(port.map(read_port).transpose()?);
    let said = OAuthSettings { redirect_port, ..said };
    settings.oauth = said.over(&settings.oauth);
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
    let words = format!("--scope {}", safe::quoted(&scopes));
    Some(format!("`{}` asks for it; other calls go on", spoken.command("login", &words)))
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use clap::error::ErrorKind;

    use super::*;
    use crate::bridge::BridgeArgs;

    #[derive(Parser)]
    #[command(no_binary_name = true)]
    struct Line {
        #[command(flatten)]
        bridge: BridgeArgs,
    }

    #[test]
    fn a_value_may_stand_behind_an_equals_sign() {
        for line in [
            "--host=localhost --callback-port=9001 --resource=urn:a=b --scope=read",
            "--host localhost --callback-port 9001 --resource urn:a=b --scope read",
        ] {
            let oauth = settings(line);

            assert_eq!(oauth.redirect().host, "localhost", "{line}");
            assert_eq!(oauth.redirect_port, Some(9001), "{line}");
            let resource = ridethrough_oauth::ResourceParameter::Given("urn:a=b".into());
            assert_eq!(oauth.resource, Some(resource), "{line}");
            assert_eq!(oauth.scopes, Some(vec!["read".to_owned()]), "{line}");
        }
    }

    #[test]
    fn a_flag_that_is_not_known_is_refused_without_its_value() {
        for line in ["--static-oauth-client s3cret", "--static-oauth-client=s3cret", "--s3cret"] {
            let refused = parsed(line).err().unwrap();

            assert_eq!(refused.kind(), ErrorKind::UnknownArgument, "{line}");
            let told = crate::wrong_usage::unknown_flag::explained(refused, &[]).to_string();
            assert!(line == "--s3cret" || !told.contains("s3cret"), "{told}");
        }
    }

    /// Which of two ports would be meant cannot be known. mcp-remote takes the first, and most programs the last.
    #[test]
    fn a_flag_that_is_repeated_is_refused_without_its_value_and_lists_go_on() {
        for line in [
            "--callback-port 1 --callback-port 2",
            "--host localhost --callback-host 127.0.0.1",
            "--static-oauth-client-info {\"s3cret\":1} --static-oauth-client-info {\"s3cret\":2}",
        ] {
            let refused = parsed(line).err().unwrap();

            assert_eq!(refused.kind(), ErrorKind::ArgumentConflict, "{line}");
            assert!(!refused.to_string().contains("s3cret"), "{refused}");
        }
        let oauth = settings("--scope a --scope b,c --authorize-param x=1 --authorize-param y=2");
        assert_eq!(oauth.scopes, Some(["a", "b", "c"].map(str::to_owned).to_vec()));
        assert_eq!(oauth.authorize_parameters.len(), 2);
    }

    #[test]
    fn flags_of_a_login_change_nothing_else_that_is_set() {
        let oauth = settings("4711 --profile work --client-id a");

        assert_eq!(oauth.profile.as_deref(), Some("work"));
        assert_eq!((oauth.client_id.as_deref(), oauth.redirect_port), (Some("a"), Some(4711)));
        assert_eq!(settings("4711 --callback-port 9").redirect_port, Some(9));
    }

    fn settings(line: &str) -> OAuthSettings {
        let args = parsed(line).map_err(|error| error.to_string()).unwrap();
        let (_, settings) = args.check().map_err(|misuse| misuse.what).unwrap();
        settings.oauth
    }

    fn parsed(line: &str) -> Result<BridgeArgs, clap::Error> {
        let words = ["https://example.com/mcp"].into_iter().chain(line.split(' '));
        Line::try_parse_from(words).map(|line| line.bridge)
    }
}
