//! The questions that a server asks while a command runs, and their answers: by a person at the terminal, or
//! by flags.
//!
//! What can be answered is declared, so that a server offers the tools that need it; everything else is
//! refused, and a line on stderr says so. A server's words are quoted line by line: they never look like
//! ours.

mod answers;
mod console;
mod field;
mod form;
mod pick;
mod sampling;
mod unanswered;
mod url;

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use anyhow::Result;
use ridethrough::model::{Elicited, FormRequest, UrlRequest};
use ridethrough::{ClientBuilder, Era};
use ridethrough_terminal::stderr::Terminal;

use super::arguments::yes_or_no;
use super::aside;
use crate::out;
use crate::safe;
use answers::Answers;
use console::{Console, PersonAnswer};
use form::{Form, Taken};
use sampling::Model;
pub(super) use unanswered::refuse_unanswered;

/// Flags that answer a server's questions.
#[derive(clap::Args, Default)]
pub(crate) struct Flags {
    /// Answer a form of the server: `key=value`, `key:=json` or `key=@file` for a field, or one JSON
    /// object; what is missing is asked for on a terminal
    #[arg(long = "answer", value_name = "KEY=VALUE", help_heading = HEADING)]
    answers: Vec<String>,
    /// Let this program be the model that the server may ask (sampling): it gets the request as JSON on
    /// stdin, and prints text, or the result as JSON
    #[arg(long, value_name = "COMMAND", help_heading = HEADING)]
    sampling_command: Option<String>,
}

/// Whether a person may be asked on the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asking {
    /// No: the command has no use for it.
    Never,
    /// Yes, if there is a terminal.
    OnTerminal,
}

/// The sources of answers: the terminal, `--answer`, and the model.
pub(super) struct Questions {
    terminal: Arc<Terminal>,
    asking: Asking,
    /// The server that asks, as people know it.
    server: String,
    console: Option<Console>,
    answers: Option<Answers>,
    /// Whether a form was declined because the answers that were given do not fit it.
    is_misfit: AtomicBool,
    model: Option<Model>,
}

impl Questions {
    pub(super) fn new(
        flags: &Flags,
        asking: Asking,
        server: String,
        terminal: Arc<Terminal>,
    ) -> Result<Arc<Self>> {
        let is_terminal = io::stdin().is_terminal() && io::stderr().is_terminal();
        let has_console = is_terminal && asking == Asking::OnTerminal;
        let console = has_console.then(|| Console::new(terminal.clone()));
        let answers = Answers::read(&flags.answers)?;
        let model = flags.sampling_command.as_deref().map(Model::read).transpose()?;
        let is_misfit = AtomicBool::new(false);
        Ok(Arc::new(Self { terminal, asking, server, console, answers, is_misfit, model }))
    }

    /// Whether any capability to answer is declared to the server.
    pub(super) const fn is_open(&self) -> bool {
        self.console.is_some() || self.answers.is_some() || self.model.is_some()
    }

    /// Whether answers that were given do not fit the server's form.
    pub(super) fn is_misfit(&self) -> bool {
        self.is_misfit.load(Relaxed)
    }

    /// Declares to a client's server what can be answered here. A session is then preferred: a server that
    /// speaks both eras, and whose code asks in the older way, cannot ask without one.
    pub(super) fn declare(self: &Arc<Self>, mut builder: ClientBuilder) -> ClientBuilder {
        if self.is_open() {
            builder = builder.prefer_era(Era::Legacy);
        }
        if self.asking == Asking::OnTerminal {
            // Tasks are not questions, but they are declared for this reason too: a server may offer more
            // then.
            builder = builder.tasks();
        }
        if self.console.is_some() || self.answers.is_some() {
            let questions = self.clone();
            builder = builder.on_form(move |request| questions.clone().form(request));
        }
        if self.console.is_some() {
            let questions = self.clone();
            builder = builder.on_url(move |request| questions.clone().url(request));
        }
        if let Some(model) = self.model.clone() {
            let terminal = self.terminal.clone();
            // The result is passed on unchanged: it may contain more than this client knows.
            builder = builder.on_request(SAMPLING, move |params| {
                let (model, terminal) = (model.clone(), terminal.clone());
                async move { model.answer(params, terminal).await }
            });
        }
        builder
    }

    /// Handles Ctrl-C. Returns whether a question took it for a no.
    pub(super) fn stop_question(&self) -> bool {
        self.console.as_ref().is_some_and(Console::stop_question)
    }

    /// Returns a note for the end: answers for which no form asked.
    pub(super) fn last_words(&self) -> Option<String> {
        let unused = self.answers.as_ref()?.unused();
        let unused: Vec<_> = unused.iter().map(|it| format!("`{}`", safe::line(it))).collect();
        (!unused.is_empty()).then(|| {
            format!("warning: no form asked for {}, which `--answer` gives", unused.join(", "))
        })
    }

    async fn form(self: Arc<Self>, request: FormRequest) -> Elicited {
        let questions = self.clone();
        let opened = aside::briefly(move || questions.open(&request)).await;
        let opened = opened.unwrap_or_else(|| Err("its form cannot be read in time".to_owned()));
        let (form, is_answered) = match opened {
            Ok(opened) => opened,
            Err(reason) => return self.decline(&reason),
        };
        match &self.console {
            Some(console) if !is_answered => self.fill_in(console, form).await,
            _ => self.answer(form).await,
        }
    }

    /// Reads a form and fills in the answers that there are. Returns whether nothing is left to ask.
    fn open(&self, request: &FormRequest) -> Result<(Form, bool), String> {
        let mut form = Form::new(request)?;
        let Some(answers) = &self.answers else { return Ok((form, false)) };
        answers.note(&request.requested_schema);
        let names = form.know(answers.by(&request.requested_schema)?)?;
        if self.console.is_none() && names.is_empty() && !answers.agree_to_anything() {
            return Err(format!("`--answer` has nothing of what it asks for ({})", fields(&form)));
        }
        let is_answered = form.is_known() || answers.agree_to_anything();
        Ok((form, is_answered))
    }

    /// Answers a form by flags alone.
    async fn answer(&self, form: Form) -> Elicited {
        let names = fields(&form);
        let whole = aside::briefly(move || form.unasked()).await;
        match whole.unwrap_or_else(|| Err("its form cannot be checked in time".to_owned())) {
            Ok(whole) => {
                self.terminal
                    .say(&format!("{} asked ({names}): answered by `--answer`", self.server));
                Elicited::Accepted(whole)
            }
            Err(reason) => self.decline(&reason),
        }
    }

    fn decline(&self, reason: &str) -> Elicited {
        let reason = safe::our_line(reason);
        let word = if self.answers.is_some() { "error" } else { "warning" };
        self.terminal.say(&format!("{word}: {} asked, and was declined: {reason}", self.server));
        self.is_misfit.store(self.answers.is_some(), Relaxed);
        Elicited::Declined
    }

    /// Lets a person fill in a form.
    async fn fill_in(&self, console: &Console, mut form: Form) -> Elicited {
        let mut dialogue = console.open().await;
        let mut before = form.head(&self.server);
        loop {
            let line = match dialogue.ask(&format!("{before}{}", form.question())).await {
                PersonAnswer::Line(line) => line,
                heard => return closed(dialogue, &heard),
            };
            // The check of a server's schema must not hold up other work.
            let checked = aside::briefly(move || {
                let taken = form.take(&line);
                (form, taken)
            });
            let Some((same, taken)) = checked.await else {
                dialogue.close("declined: the form cannot be checked in time");
                return Elicited::Declined;
            };
            form = same;
            before = match taken {
                Taken::Accepted(whole) => {
                    dialogue.close("sent");
                    return Elicited::Accepted(whole);
                }
                Taken::Again(reason) => format!("{reason}\n"),
                Taken::Declined => {
                    dialogue.close("declined");
                    return Elicited::Declined;
                }
                Taken::Next => String::new(),
            };
        }
    }

    /// Shows a person the page that the server wants them to visit.
    async fn url(self: Arc<Self>, request: UrlRequest) -> Elicited {
        let Some(console) = &self.console else { return Elicited::Declined };
        let mut dialogue = console.open().await;
        let mut before = url::words(&request, &self.server);
        loop {
            let line = match dialogue.ask(&format!("{before}{}", url::QUESTION)).await {
                PersonAnswer::Line(line) => line,
                heard => return closed(dialogue, &heard),
            };
            match yes_or_no(&line) {
                Some(true) => {
                    dialogue.close("agreed");
                    return Elicited::accepted();
                }
                Some(false) => {
                    dialogue.close("declined");
                    return Elicited::Declined;
                }
                None => before = "type `yes` or `no`".to_owned(),
            }
        }
    }
}

/// Returns the outcome if a person gave no line.
fn closed(dialogue: console::Dialogue<'_>, heard: &PersonAnswer) -> Elicited {
    match heard {
        PersonAnswer::End => {
            dialogue.close("cancelled");
            Elicited::Cancelled
        }
        PersonAnswer::Line(_) | PersonAnswer::Stop => {
            dialogue.close("declined; Ctrl-C again ends the command");
            Elicited::Declined
        }
    }
}

/// Returns the names of the form's fields.
fn fields(form: &Form) -> String {
    let names: Vec<_> = form.names().iter().map(|it| format!("`{it}`")).collect();
    if names.is_empty() { "for a yes".to_owned() } else { names.join(", ") }
}

/// Quotes words of a server, each line marked as such.
fn quoted(words: &str) -> String {
    let words = super::schema::cut(words, LONGEST);
    let mut quoted = String::new();
    for paragraph in safe::text(words).lines().filter(|it| !it.trim().is_empty()).take(MOST_LINES) {
        quoted += &out::wrapped(paragraph, QUOTE);
        quoted.push('\n');
    }
    quoted
}

const HEADING: &str = "Questions of the server";
const SAMPLING: &str = "sampling/createMessage";
const QUOTE: &str = "  | ";
/// The most characters of a server's words that are shown.
const LONGEST: usize = 4000;
const MOST_LINES: usize = 40;
