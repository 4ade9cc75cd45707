//! The next step for a person whose server could not be reached or refused them.

use ridethrough::error::{Advice, CallError, Delivery, Kind, Reason};
use ridethrough::transport::Cause;
use ridethrough_config::address;

use crate::ending::exit;

/// A server in the words of its user, for hints.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spoken {
    /// The word to type: a URL, a name, or a program behind `--`. Values that may be secrets are `...`.
    pub(crate) word: String,
    /// The address of the server, without the query; `None` for a program.
    pub(crate) url: Option<String>,
    /// The query that was typed, with its `?`.
    pub(crate) query: String,
    /// The flags that were typed and that another command needs too.
    pub(crate) flags: String,
}

impl Spoken {
    /// Returns this server with the flags that were typed.
    pub(crate) fn with_flags(self, flags: String) -> Self {
        Self { flags, ..self }
    }

    /// Returns a command line for this server with these words. A program comes after everything else.
    pub(crate) fn command(&self, command: &str, words: &str) -> String {
        let flags = self.flags.as_str();
        let [first, second, last] = if self.word.starts_with("--") {
            [words, flags, self.word.as_str()]
        } else {
            [self.word.as_str(), words, flags]
        };
        let parts = ["ridethrough", command, first, second, last];
        parts.into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

/// Returns the next step, in one line; `None` where the error itself says what to do.
pub(crate) fn of(error: &CallError, server: &Spoken) -> Option<String> {
    let is_no_endpoint = error.is_of_handshake()
        && match error.kind {
            Kind::Rejected { status } => !matches!(status, 300..=399 | 403 | 429 | 500..=599),
            Kind::Incompatible | Kind::PeerMisbehaved => true,
            _ => false,
        };
    let is_unsettled =
        error.is_of_handshake() || matches!(error.kind, Kind::Unreachable | Kind::Incompatible);
    let is_unsettled = is_unsettled || exit::is_unreached(error);
    let look_closer = format!("`{}` looks closer", server.command("check", ""));
    if matches!(error.reason, Reason::Elsewhere(_)) {
        return Some(format!("`{}` shows where it leads", server.command("check", "")));
    }
    let url = server.url.as_deref();
    let query = server.query.as_str();
    if let Some(tries) =
        url.filter(|_| is_no_endpoint).and_then(|url| address::with_mcp(url, query))
    {
        return Some(format!("perhaps `/mcp` is missing: try {tries}; {look_closer}"));
    }
    if let Some(rest) =
        url.filter(|_| is_cut_short(error)).and_then(|it| it.strip_prefix("http://"))
    {
        return Some(format!("perhaps it wants TLS: try `https://{rest}{query}`; {look_closer}"));
    }
    if let Some(rest) =
        url.filter(|_| is_without_tls(error)).and_then(|it| it.strip_prefix("https://"))
    {
        // An answer, if one came, explains itself.
        let perhaps = if is_cut_short(error) { "perhaps it has no TLS: " } else { "" };
        return Some(format!("{perhaps}try `http://{rest}{query}`; {look_closer}"));
    }
    if server.word.starts_with("--") && error.kind == Kind::DeadlinePassed && error.attempts == 0 {
        return Some(format!("{NO_ANSWER}; {look_closer}"));
    }
    is_unsettled.then_some(look_closer)
}

/// Returns the next step, with how to give credentials where they are missing.
pub(crate) fn in_full(error: &CallError, server: &Spoken) -> Option<String> {
    let has_token = server.flags.contains("--bearer-env") || server.flags.contains("uthorization:");
    if error.kind == Kind::Unauthorized && !has_token && server.url.is_some() {
        // Another login would fail in the same way.
        let would_not_help = |text| matches!(&error.reason, Reason::Credentials(why) if why.reason().is_some_and(|it| it.contains(text)));
        return Some(if would_not_help(TROUBLE) {
            LATER.to_owned()
        } else if would_not_help(FRESH) {
            format!("`{}` shows which tokens the server asks for", server.command("check", ""))
        } else {
            log_in(server)
        });
    }
    let credentials = if has_token { ANOTHER_TOKEN } else { CREDENTIALS };
    let credentials = exit::is_unauthorized(error).then(|| credentials.to_owned());
    let steps: Vec<_> = of(error, server).into_iter().chain(credentials).collect();
    (!steps.is_empty()).then(|| steps.join("; "))
}

/// Returns how a person logs in to this server.
pub(crate) fn log_in(server: &Spoken) -> String {
    format!("`{}` logs you in; {CREDENTIALS}", server.command("login", ""))
}

/// Whether this step is about a login, and not about a token that was configured.
pub(crate) fn is_login(step: &str) -> bool {
    step.starts_with("`ridethrough login ") || step == LATER
}

/// Whether the server closed the connection on the handshake without an answer, as a server does that expects
/// TLS.
fn is_cut_short(error: &CallError) -> bool {
    let Reason::Transport(failure) = &error.reason else { return false };
    let is_cut = matches!(failure.cause, Cause::Closed | Cause::Reset | Cause::Unreadable);
    is_cut && error.is_of_handshake()
}

/// Whether the TLS handshake failed as it does at a port without TLS: by another protocol, or by silence.
fn is_without_tls(error: &CallError) -> bool {
    let Reason::Transport(failure) = &error.reason else { return false };
    let is_cut = matches!(failure.cause, Cause::Closed | Cause::Reset);
    let is_unsent = error.attempts == 0 && failure.delivery == Delivery::NotSent;
    failure.advice == Some(Advice::WithoutTls) || (is_cut && is_unsent)
}

/// The hint about a program that was started and has answered nothing.
const NO_ANSWER: &str = "the program runs and has not answered: is it an MCP server, and does it speak on its stdin \
                         and stdout?";
/// The library's words for a login that cannot be renewed for a while.
const TROUBLE: &str = "the authorization server is in trouble";
const FRESH: &str = "the server refuses a token that was just issued";
const LATER: &str = "try again later: your login is kept, and renewed when its issuer answers";
/// How credentials are given.
pub(crate) const CREDENTIALS: &str = "`--bearer-env VAR` sends a token that a variable holds";

/// The hint about a token that was refused.
const ANOTHER_TOKEN: &str = "get a new token if the one that was sent is too old";

#[cfg(test)]
mod tests {
    use ridethrough::call::CallName;
    use ridethrough::credentials::NoCredentials;
    use ridethrough::transport::Failure;
    use ridethrough_oauth::LoginReason;

    use super::*;

    #[test]
    fn a_wrong_path_leads_to_the_usual_one_and_to_a_closer_look() {
        let error = refused(Kind::Rejected { status: 404 });

        assert_eq!(
            of(&error, &at("http://a/")).unwrap(),
            "perhaps `/mcp` is missing: try `http://a/mcp`; `ridethrough check http://a/` looks closer"
        );
        assert_eq!(
            of(&error, &at("http://a/mcp")).unwrap(),
            "`ridethrough check http://a/mcp` looks closer"
        );
    }

    /// Before this was fixed, a person with a wrong path was only pointed below that path.
    #[test]
    fn a_wrong_path_leads_to_the_root_too_and_keeps_the_query() {
        let server = Spoken { query: "?v=1".into(), ..at("http://a/wrong") };

        let step = of(&refused(Kind::Rejected { status: 404 }), &server).unwrap();

        assert!(step.contains("try `http://a/mcp?v=1` or `http://a/wrong/mcp?v=1`"), "{step}");
    }

    #[test]
    fn a_command_that_is_told_can_be_pasted() {
        let server = at("http://a/mcp").with_flags("--bearer-env TOKEN".into());
        let program = Spoken { word: "-- npx ...".into(), ..server.clone() };

        assert_eq!(
            server.command("check", ""),
            "ridethrough check http://a/mcp --bearer-env TOKEN"
        );
        assert_eq!(
            program.command("tools", "echo"),
            "ridethrough tools echo --bearer-env TOKEN -- npx ..."
        );
        assert_eq!(crate::safe::quoted("http://a/mcp?b=1&c=it's"), r"'http://a/mcp?b=1&c=it'\''s'");
    }

    #[test]
    fn a_program_has_no_path_that_could_be_wrong() {
        let error = refused(Kind::Rejected { status: 404 });

        assert_eq!(
            of(&error, &Spoken { word: "-- npx ...".into(), ..Spoken::default() }).unwrap(),
            "`ridethrough check -- npx ...` looks closer"
        );
    }

    #[test]
    fn a_program_that_never_answers_is_asked_about() {
        let program = Spoken { word: "-- cat ...".into(), ..Spoken::default() };
        let mut error = refused(Kind::DeadlinePassed);
        (error.attempts, error.handshakes) = (0, 1);

        let told = of(&error, &program).unwrap();

        assert!(told.starts_with(NO_ANSWER), "{told}");
        assert!(!of(&error, &at("http://a/mcp")).is_some_and(|it| it.contains(NO_ANSWER)));
    }

    #[test]
    fn a_program_stands_behind_the_words_of_a_command() {
        let program = Spoken { word: "-- npx ...".into(), ..Spoken::default() };

        assert_eq!(program.command("tools", "echo"), "ridethrough tools echo -- npx ...");
        assert_eq!(at("http://a/").command("tools", "echo"), "ridethrough tools http://a/ echo");
    }

    #[test]
    fn a_server_that_fails_or_forbids_is_at_the_right_path() {
        for status in [403, 500, 503] {
            let step = of(&refused(Kind::Rejected { status }), &at("http://a/")).unwrap();

            assert_eq!(step, "`ridethrough check http://a/` looks closer");
        }
    }

    #[test]
    fn a_call_that_was_sent_says_itself_what_to_do() {
        let mut error = refused(Kind::Rejected { status: 404 });
        error.attempts = 1;

        assert_eq!(of(&error, &at("http://a/")), None);
    }

    #[test]
    fn a_server_that_has_a_name_is_checked_by_its_name_and_tried_at_its_url() {
        let url = Some("https://a.example/".into());
        let server = Spoken { word: "github".into(), url, ..Spoken::default() };

        assert_eq!(
            of(&refused(Kind::Rejected { status: 404 }), &server).unwrap(),
            "perhaps `/mcp` is missing: try `https://a.example/mcp`; `ridethrough check github` looks closer"
        );
    }

    #[test]
    fn a_server_that_hangs_up_on_plain_http_may_want_tls() {
        let mut error = refused(Kind::Unreachable);
        error.reason = Reason::Transport(Failure::unknown(Cause::Closed));

        let step = of(&error, &at("http://a/mcp")).unwrap();

        assert!(step.starts_with("perhaps it wants TLS: try `https://a/mcp`"), "{step}");
        assert!(!of(&error, &at("https://a/mcp")).unwrap().contains("TLS"));
        error.reason = Reason::Transport(Failure::not_sent(Cause::ConnectRefused));
        assert!(!of(&error, &at("http://a/mcp")).unwrap().contains("TLS"));
    }

    /// Before this was fixed, only the reverse case had a hint.
    #[test]
    fn a_port_that_does_not_speak_tls_is_tried_without() {
        let mut error = refused(Kind::Unreachable);
        let plain = Failure::not_sent(Cause::TlsRefused).with_advice(Advice::WithoutTls);
        for failure in [plain, Failure::not_sent(Cause::Closed)] {
            error.reason = Reason::Transport(failure);

            let step = of(&error, &at("https://a/mcp")).unwrap();

            assert!(step.contains("try `http://a/mcp`; "), "{step}");
        }
        error.reason = Reason::Transport(Failure::unknown(Cause::Closed));
        assert!(!of(&error, &at("https://a/mcp")).unwrap().contains("TLS"));
    }

    #[test]
    fn who_is_not_let_in_is_told_how_to_log_in_and_how_to_show_a_token() {
        for kind in [Kind::Unauthorized, Kind::Rejected { status: 403 }] {
            let told = in_full(&refused(kind), &at("http://a/mcp")).unwrap();

            assert!(told.ends_with(CREDENTIALS), "{told}");
            assert_eq!(is_login(&told), kind == Kind::Unauthorized, "{told}");
        }
        let other = at("http://a/mcp").with_flags("--profile work".into());
        let told = in_full(&refused(Kind::Unauthorized), &other).unwrap();
        assert!(told.starts_with("`ridethrough login http://a/mcp --profile work` logs"), "{told}");
        let mut waiting = refused(Kind::Unauthorized);
        let why = "the authorization server is in trouble; asked again";
        waiting.reason = Reason::Credentials(NoCredentials::because(why));
        assert_eq!(in_full(&waiting, &other).as_deref(), Some(LATER));
        let why = LoginReason::FreshTokenRefused.to_string();
        waiting.reason = Reason::Credentials(NoCredentials::because(why));
        let told = in_full(&waiting, &other).unwrap();
        assert!(
            told.starts_with("`ridethrough check http://a/mcp --profile work` shows"),
            "{told}"
        );
        let knowing = at("http://a/mcp").with_flags("--bearer-env TOKEN".into());
        let told = in_full(&refused(Kind::Unauthorized), &knowing).unwrap();
        assert!(told.ends_with(ANOTHER_TOKEN), "{told}");
        let told = in_full(&refused(Kind::Rejected { status: 404 }), &at("http://a/mcp")).unwrap();
        assert!(!told.contains("--bearer-env"), "{told}");
    }

    fn at(url: &str) -> Spoken {
        Spoken { word: url.into(), url: Some(url.into()), ..Spoken::default() }
    }

    fn refused(kind: Kind) -> CallError {
        let call = CallName { method: "tools/list".into(), tool: None };
        let mut error = CallError::new(kind, Delivery::NotSent, call, Reason::Nothing);
        error.handshakes = 2;
        error
    }
}
