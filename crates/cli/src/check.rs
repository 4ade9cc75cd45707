//! `ridethrough check`: flags, waits and exit codes of the check, which is a crate of its own.

use std::env;
use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

use anyhow::Result;
use ridethrough_check::report::{self, Look};
use ridethrough_check::{AuthorizationCheck, Ended, Notes, Wire, examine, examine_program};
use ridethrough_config::settings::Policy;
use ridethrough_terminal::stderr::Terminal;
use tokio::time::{Instant, interval, timeout};

use crate::ending::exit::Exit;
use crate::misuse::Misuse;
use crate::options::{self, Options, Settings};
use crate::server::target::{self, Target};
use crate::talk::{ending, notes_on};
use crate::{out, until};

/// The arguments of `ridethrough check`.
#[derive(clap::Args)]
#[command(after_long_help = CODES, mut_arg("policy", |it| it.help(POLICY).hide(true)),
          mut_arg("era", |it| it.help(ERA).hide(true)))]
pub(crate) struct CheckArgs {
    /// The server: a URL such as `https://example.com/mcp`, or its name in the config file of an MCP host;
    /// or a program to start, behind everything else: `-- npx -y some-server`
    server: String,
    /// Print JSON for machines: findings, figures, tools
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    options: Options,
}

pub(crate) fn play(args: &CheckArgs) -> Result<ExitCode> {
    ending::tell(check(args), args.json)
}

fn check(args: &CheckArgs) -> Result<ExitCode> {
    let settings = args.options.settings()?;
    let target = target::resolve(&args.server)
        .map_err(|misuse| crate::server::program::advised(misuse, &args.server))?;
    let terminal = Rc::new(Terminal::default());
    notes_on(&target, &settings).iter().for_each(|note| terminal.say(note));
    let time = settings.timeout.unwrap_or(TIME);
    let examined = until::stopped(async {
        if target.address().is_none() {
            let once = Policy::Never.recovery().builder();
            let client = options::finish(settings.begin(&target, once)?)?;
            let (mut notes, line) = (Notes::on(target.to_string()), target.stray_line());
            let looked = examine_program(&client, &settings.hints, time, &line, &mut notes);
            let ended = patiently(&terminal, looked).await;
            return anyhow::Ok((notes, ended));
        }
        let probe = settings.probe(&target)?;
        let mut notes = Notes::on(probe.endpoint().to_string());
        let wire = Wire::new(probe, terminal.clone(), time).telling(settings.verbose > 0);
        let wire = wire.showing(&settings.shown_to(&target));
        let has_token = wire.has_token;
        if settings.warning(&target).is_some() {
            notes.certificate_is_unchecked();
        }
        let ended = patiently(&terminal, examine(wire, &settings.hints, &mut notes)).await;
        if !has_token {
            let is_asked_for = matches!(ended, Ended::Unauthorized);
            let looked = look_at_login(args, &settings, &target, is_asked_for, &mut notes);
            patiently(&terminal, looked).await?;
        }
        patiently(&terminal, settings.renewals_ended()).await;
        anyhow::Ok((notes, ended))
    })?;
    terminal.clear();
    let (notes, ended) = match examined {
        Ok(examined) => examined?,
        Err(stopped) => {
            return Ok(stopped.tell("no tool was called; a session may be left to expire"));
        }
    };
    let exit = exit_of(&ended);
    out::print(|out| {
        if args.json {
            writeln!(out, "{}", report::json(&notes, exit.code()))
        } else {
            report::words(out, &notes, look())
        }
    })?;
    Ok(exit.into())
}

/// Examines how people log in to the server.
async fn look_at_login(
    args: &CheckArgs,
    settings: &Settings,
    target: &Target,
    is_asked_for: bool,
    notes: &mut Notes,
) -> Result<(), Misuse> {
    let Some(address) = target.address() else { return Ok(()) };
    let oauth = settings.oauth_at(address);
    let builder = settings.begin(target, Policy::Never.recovery().builder())?;
    let Some(account) = settings.account(settings.login_at(address), &builder)? else {
        return Ok(());
    };
    let spoken = target.spoken().with_flags(args.options.typed());
    let (redirect, profile) = (oauth.redirect(), oauth.profile.unwrap_or_default());
    let log_in = |flags: &str| spoken.command("login", flags);
    let check = AuthorizationCheck { account: &account, log_in: &log_in, redirect, profile };
    check.look(is_asked_for, notes).await;
    Ok(())
}

/// Returns how the command ends.
fn exit_of(ended: &Ended) -> Exit {
    match ended {
        Ended::Deadline => Exit::Deadline,
        Ended::Done => Exit::Done,
        Ended::Failed(error) => Exit::of(error),
        Ended::Protocol => Exit::Protocol,
        Ended::Unauthorized => Exit::Unauthorized,
        Ended::Unreachable => Exit::Unreachable,
    }
}

/// Runs `work`, and shows that something goes on once a person has waited for two seconds.
async fn patiently<T>(terminal: &Terminal, work: impl Future<Output = T>) -> T {
    let began = Instant::now();
    let mut work = std::pin::pin!(work);
    if let Ok(done) = timeout(SILENCE, work.as_mut()).await {
        return done;
    }
    let (mut ticks, mut next) = (interval(TICK), SILENCE);
    loop {
        tokio::select! {
            done = &mut work => return done,
            _ = ticks.tick() => {}
        }
        let waited = began.elapsed();
        let waiting = format!("checking the server: {} s", waited.as_secs());
        terminal.wait(&waiting);
        // A line that changes is for terminals. Elsewhere lines that stay are written now and then.
        if !terminal.is_terminal() && waited >= next {
            terminal.say(&waiting);
            next = waited * 2;
        }
    }
}

fn look() -> Look {
    let is_utf8 = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .filter_map(env::var_os)
        .find(|it| !it.is_empty())
        .is_some_and(|it| {
            it.to_string_lossy().to_ascii_lowercase().replace('-', "").contains("utf8")
        });
    let out = io::stdout();
    Look { is_colourful: out::is_colourful(&out), is_fancy: out.is_terminal() && is_utf8 }
}

/// The time for a whole check, unless `--timeout` says otherwise.
const TIME: Duration = Duration::from_secs(60);
/// The longest time without a line about what goes on.
const SILENCE: Duration = Duration::from_secs(2);
const TICK: Duration = Duration::from_millis(250);

const ERA: &str = "Changes nothing here: a check looks at both eras";
const POLICY: &str = "Changes nothing here: a check tries everything once";
const CODES: &str = "\
Exit codes:
  0  checked, whatever was found
  2  wrong usage
  4  the server cannot be reached, says nothing, or turns everybody away
  5  not authorized
  7  the time of the check was over before an answer came
  8  not an MCP server, or one that our client cannot speak with
  130, 143  stopped by Ctrl-C or a signal";
