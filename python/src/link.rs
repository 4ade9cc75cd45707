//! The class that Python holds: one client, its queue and its porter.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyList};
use ridethrough::event::{Answer, QuestionId};
use ridethrough::{Client, Json};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::call_options::{CallOptions, seconds};
use crate::carried::Carried;
use crate::event::Level;
use crate::messages::{self, SdkMessage};
use crate::porter::{CallKey, Ending, Porter, PorterCommand, Running};
use crate::queue::{Item, ItemKind, Queue};
use crate::repeats::Repeats;
use crate::runtime::{self, ForkAge};
use crate::sdk::{self, begun, greeted, held, of_era};
use crate::settings::{Prepared, Settings, Speaks};
use crate::tokens::TokenRequests;

/// A client for Python. Its methods never block, but for `take`.
#[pyclass(frozen, module = "ridethrough._native")]
pub(crate) struct Link {
    age: ForkAge,
    /// The parts of the client; `None` only while it is dropped.
    parts: Option<Parts>,
}

struct Parts {
    client: Client,
    queue: Arc<Queue>,
    porter: UnboundedSender<PorterCommand>,
    carried: Option<Arc<Carried>>,
    tokens: Option<Arc<TokenRequests>>,
    repeats: Arc<Repeats>,
    runtime: Handle,
}

/// An item as Python gets it: kind, number, JSON, and an HTTP request.
type PyItem<'py> = (u8, u64, Bound<'py, PyBytes>, Option<PyRequest<'py>>);

/// An HTTP request as Python gets it: method, URL, headers, tag, body.
type PyRequest<'py> =
    (&'static str, Option<String>, Vec<PyHeader<'py>>, Option<u64>, Bound<'py, PyBytes>);
type PyHeader<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// The headers of an answer, as names and values that Python keeps.
type RawHeaders = Vec<(PyBackedBytes, PyBackedBytes)>;

#[pymethods]
impl Link {
    #[new]
    fn new(settings: &[u8]) -> PyResult<Self> {
        let settings: Settings = serde_json::from_slice(settings).map_err(invalid)?;
        let runtime = runtime::handle().map_err(PyOSError::new_err)?;
        let queue = Queue::new();
        let repeats = settings.repeats().map_err(PyValueError::new_err)?;
        let prepared = settings.prepare(&queue).map_err(PyValueError::new_err)?;
        let Prepared { builder, carried, tokens, wording, speaks } = prepared;
        let client = {
            let _entered = runtime.enter();
            builder.build().map_err(invalid)?
        };
        let (porter, commands) = unbounded_channel();
        let inbox = match speaks {
            Speaks::Either => client.inbox(),
            Speaks::Modern => client.inbox_of_calls(),
        };
        let carrying = Porter {
            inbox,
            events: None,
            commands,
            queue: queue.clone(),
            wording,
            running: Running::default(),
        };
        runtime.spawn(carrying.run());
        let repeats = Repeats::new(repeats);
        let parts = Parts { client, queue, porter, carried, tokens, repeats, runtime };
        Ok(Self { age: ForkAge::current(), parts: Some(parts) })
    }

    /// Returns the socket that is readable while there is something to drain.
    fn fileno(&self) -> PyResult<i64> {
        self.parts()?.queue.fileno().map_err(PyOSError::new_err)
    }

    /// Takes all items that are there.
    fn drain<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let items = self.parts()?.queue.drain();
        let items: PyResult<Vec<_>> = items.into_iter().map(|item| shown(python, item)).collect();
        PyList::new(python, items?)
    }

    /// Waits for the next item of this call, or one of no call; at most so many seconds.
    fn take<'py>(
        &self,
        python: Python<'py>,
        number: u64,
        patience: f64,
    ) -> PyResult<Option<PyItem<'py>>> {
        let queue = self.parts()?.queue.clone();
        let patience = seconds(patience).unwrap_or_default();
        let item = python.detach(|| queue.take(number, patience));
        item.map(|item| shown(python, item)).transpose()
    }

    /// Begins a call.
    fn call(
        &self,
        number: u64,
        method: &str,
        params: Option<&[u8]>,
        options: Option<&[u8]>,
    ) -> PyResult<()> {
        let parts = self.parts()?;
        let params = params.map(json).transpose()?;
        let options: CallOptions = match options {
            Some(options) => serde_json::from_slice(options).map_err(invalid)?,
            None => CallOptions::default(),
        };
        if !options.idempotent
            && let Some(doubt) = parts.repeats.held(method, params.as_ref())
        {
            parts.tell(held(messages::repeat_ended(number, &doubt), params.as_ref()));
            return Ok(());
        }
        let watched = parts.repeats.watch(None, method, params.as_ref());
        let mut call = options.apply(parts.client.request(method, params));
        if options.progress {
            let queue = parts.queue.clone();
            call = call.on_progress(move |step| {
                let told = serde_json::json!({
                    "progress": step.progress, "total": step.total, "message": step.message,
                });
                queue.push(Item::new(ItemKind::Progress, number, told.to_string()));
            });
        }
        let call = call.answer().map(move |outcome| {
            // A program is told by an exception, whatever the form.
            let _ = watched.and_then(|it| it.ended(&outcome));
            messages::ended(number, outcome)
        });
        parts.begin(CallKey::Number(number), call.boxed());
        Ok(())
    }

    /// Connects now, and ends with the server's description of itself.
    #[pyo3(signature = (number, timeout = None))]
    fn connect(&self, number: u64, timeout: Option<f64>) -> PyResult<()> {
        let parts = self.parts()?;
        let client = parts.client.clone();
        let within = timeout.and_then(seconds);
        let connecting = async move {
            let connected = match within {
                Some(time) => client.connect_within(time).await,
                None => client.connect().await,
            };
            messages::ended(number, greeted(connected))
        };
        parts.begin(CallKey::Number(number), connecting.boxed());
        Ok(())
    }

    /// Reports events from now on: all of them, or only those of at least this level.
    fn watch(&self, level: &str) -> PyResult<()> {
        let parts = self.parts()?;
        let least = Level::parse(level).ok_or_else(|| invalid("there is no such level"))?;
        parts.tell(PorterCommand::Watch(parts.client.events(), least));
        Ok(())
    }

    /// Keeps the link connected while no call waits.
    fn keep_connected(&self) -> PyResult<()> {
        self.parts()?.client.keep_connected();
        Ok(())
    }

    /// Cancels a call. Nothing more is reported about it.
    fn cancel(&self, number: u64) -> PyResult<()> {
        self.parts()?.tell(PorterCommand::Cancel(CallKey::Number(number)));
        Ok(())
    }

    /// Sends a notification, and reports its end like that of a call.
    fn notify(&self, number: u64, method: &str, params: Option<&[u8]>) -> PyResult<()> {
        let parts = self.parts()?;
        let params = params.map(json).transpose()?;
        let (client, method) = (parts.client.clone(), method.to_owned());
        let noticing = async move {
            let accepted = client.notify(method, params).await;
            messages::ended(number, accepted.map(|()| Answer::Result(Json::empty_object())))
        };
        parts.begin(CallKey::Number(number), begun(noticing.boxed()));
        Ok(())
    }

    /// Answers a question of the server, with a result or an error object.
    fn answer(&self, question: u64, answer: &[u8], is_error: bool) -> PyResult<()> {
        let answer = json(answer)?;
        let answer = if is_error { Answer::Error(answer) } else { Answer::Result(answer) };
        let question = QuestionId::new(question);
        self.parts()?.tell(PorterCommand::Answer { question, answer });
        Ok(())
    }

    /// Takes a whole message of the SDK. Requests end as whole messages; a tag, if there is one, comes back
    /// with each HTTP request that is made for this message.
    fn send(&self, message: &[u8], tag: u64, options: Option<&[u8]>) -> PyResult<()> {
        let parts = self.parts()?;
        let message: SdkMessage<'_> = serde_json::from_slice(message).map_err(invalid)?;
        let options: CallOptions = match options {
            Some(options) => serde_json::from_slice(options).map_err(invalid)?,
            None => CallOptions::default(),
        };
        let tag = parts.carried.is_some().then_some(tag);
        if let Some(command) = sdk::taken(&parts.client, &parts.repeats, &message, tag, &options) {
            parts.tell(command);
        }
        Ok(())
    }

    /// Takes an answer back that the SDK cannot read; returns the message in its place.
    fn unreadable<'py>(&self, python: Python<'py>, id: &str) -> PyResult<Bound<'py, PyBytes>> {
        let repeats = &self.parts()?.repeats;
        let answer = of_era(repeats.unreadable(id), repeats.is_stateless());
        Ok(PyBytes::new(python, &messages::doubt_told(id, answer).text()))
    }

    /// Replaces the roots that the server may work in: pairs of a URI and a name or none.
    fn set_roots(&self, roots: &[u8]) -> PyResult<()> {
        let roots: Vec<(String, Option<String>)> =
            serde_json::from_slice(roots).map_err(invalid)?;
        let roots = roots.into_iter().map(|(uri, name)| {
            let root = ridethrough::model::Root::new(uri);
            name.into_iter().fold(root, ridethrough::model::Root::named)
        });
        self.parts()?.client.set_roots(roots);
        Ok(())
    }

    /// Reports the head of an answer to an HTTP request.
    fn http_head(&self, number: u64, status: u16, headers: RawHeaders) -> PyResult<()> {
        if let Some(carried) = &self.parts()?.carried {
            carried.head(number, status, &headers);
        }
        Ok(())
    }

    /// Reports a whole answer at once, which costs less than its parts.
    fn http_answer(
        &self,
        number: u64,
        status: u16,
        headers: RawHeaders,
        body: PyBackedBytes,
    ) -> PyResult<()> {
        if let Some(carried) = &self.parts()?.carried {
            carried.answer(number, status, &headers, kept(body));
        }
        Ok(())
    }

    /// Reports a piece of the body of an answer.
    fn http_chunk(&self, number: u64, chunk: PyBackedBytes) -> PyResult<()> {
        if let Some(carried) = &self.parts()?.carried {
            carried.chunk(number, kept(chunk));
        }
        Ok(())
    }

    /// Reports the regular end of an answer.
    fn http_end(&self, number: u64) -> PyResult<()> {
        if let Some(carried) = &self.parts()?.carried {
            carried.end(number);
        }
        Ok(())
    }

    /// Reports a failure, and whether any byte of the request may have gone out.
    fn http_failed(&self, number: u64, cause: &str, is_sent: bool, detail: String) -> PyResult<()> {
        if let Some(carried) = &self.parts()?.carried {
            carried.fail(number, cause, is_sent, detail);
        }
        Ok(())
    }

    /// Answers a question for a token: with one, with none, or with the reason why there is none.
    fn provide_token(
        &self,
        number: u64,
        token: Option<String>,
        reason: Option<String>,
    ) -> PyResult<()> {
        if let Some(tokens) = &self.parts()?.tokens {
            tokens.answer(number, reason.map_or(Ok(token), Err));
        }
        Ok(())
    }

    /// Closes the client: every call ends, and then nothing follows.
    fn close(&self) -> PyResult<()> {
        let parts = self.parts()?;
        let client = parts.client.clone();
        parts.runtime.spawn(async move { client.close().await });
        Ok(())
    }
}

impl Link {
    fn parts(&self) -> PyResult<&Parts> {
        self.age.check()?;
        self.parts.as_ref().ok_or_else(|| PyValueError::new_err("the client is gone"))
    }
}

impl Drop for Link {
    /// Drops the client; in the child of a fork it is only forgotten.
    fn drop(&mut self) {
        if self.age.is_past() {
            std::mem::forget(self.parts.take());
        }
    }
}

impl Parts {
    fn tell(&self, command: PorterCommand) {
        // A porter that has ended has reported that the client is closed.
        let _ = self.porter.send(command);
    }

    fn begin(&self, key: CallKey, call: Ending) {
        self.tell(PorterCommand::Begin { key, call });
    }
}

fn shown(python: Python<'_>, item: Item) -> PyResult<PyItem<'_>> {
    let bytes = |bytes: &[u8]| PyBytes::new(python, bytes);
    let request = item.request.map(|it| {
        let headers = it.headers.iter();
        let headers = headers.map(|(name, value)| (bytes(name.as_ref()), bytes(value.as_bytes())));
        (it.method, it.url, headers.collect(), it.tag, bytes(&it.body))
    });
    let json = match item.around {
        Some((before, after)) => {
            let parts = [before.as_bytes(), &item.json, after.as_bytes()];
            joined(python, parts)?
        }
        None => bytes(&item.json),
    };
    Ok((item.kind as u8, item.number, json, request))
}

fn joined<'py>(python: Python<'py>, parts: [&[u8]; 3]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(python, parts.iter().map(|part| part.len()).sum(), |mut rest| {
        for part in parts {
            let (here, others) = rest.split_at_mut(part.len());
            here.copy_from_slice(part);
            rest = others;
        }
        Ok(())
    })
}

/// Returns bytes of Python. Large ones are not copied: Python gets them back when it next calls this module, because no
/// thread of Rust may give anything back by itself.
fn kept(bytes: PyBackedBytes) -> Bytes {
    if bytes.len() < LARGE { Bytes::copy_from_slice(&bytes) } else { Bytes::from_owner(bytes) }
}

/// From how many bytes on a copy costs more than the care for what is not copied.
const LARGE: usize = 16 * 1024;

fn json(text: &[u8]) -> PyResult<Json> {
    Json::new(Bytes::copy_from_slice(text)).map_err(invalid)
}

fn invalid(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}
