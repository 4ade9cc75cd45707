//! Serves one HTTP/2 connection with the `h2` crate.
//!
//! Only the connection's task moves frames, for as long as the connection lives. It looks at its orders only
//! after everything sent so far was written, so that a reset never overtakes data that was sent before it.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use h2::server::{Builder, Connection as Frames, SendResponse};
use h2::{Reason, RecvStream};
use tokio::time::Instant;

use crate::connection::{Connection, Order, Processed, UnderWay};
use crate::server::Http2;
use crate::staff::Staff;
use crate::turn::{Reply, Request, Turn};
use crate::wire::Wire;

mod answer;

pub(crate) use answer::{Handle, Http2Body, Unanswered};

pub(crate) async fn serve(
    wire: Box<dyn Wire>,
    settings: Http2,
    connection: Arc<Connection>,
    staff: Staff,
) {
    // What fails here, or ends the loop below, fails for the client as well, which sees why.
    let Ok(mut frames) = builder(settings).handshake(wire).await else { return };
    loop {
        tokio::select! {
            biased;
            accepted = frames.accept() => {
                let Some(Ok((request, respond))) = accepted else { return };
                let under_way = connection.begin_stream();
                staff.spawn(take_turn(request, respond, under_way, connection.clone(), staff.clone()));
            }
            order = connection.next_order() => match order {
                Order::Abandon(asking) => {
                    drop(frames);
                    drop(asking);
                    return;
                }
                Order::Close => frames.graceful_shutdown(),
                Order::GoAway(processed) => go_away(&mut frames, processed),
                Order::ResetStream(handle, reason) => handle.reset(reason),
                // HTTP/2 has no way to send an answer unasked.
                Order::Say(_) => {}
            },
        }
    }
}

fn builder(settings: Http2) -> Builder {
    let mut builder = Builder::new();
    builder.reset_stream_duration(A_DAY);
    // h2 closes a connection on which many bodies come in tiny frames, and hyper sends such when many requests wait
    // for the connection's window at once. What is studied here are faults that a scenario names.
    builder.data_frame_budget(usize::MAX);
    if let Some(most) = settings.max_concurrent_streams {
        builder.max_concurrent_streams(most);
    }
    if let Some(size) = settings.initial_window_size {
        builder.initial_window_size(size);
    }
    builder
}

fn go_away(frames: &mut Frames<Box<dyn Wire>, Bytes>, processed: Processed) {
    match processed {
        Processed::All => frames.graceful_shutdown(),
        Processed::SoFar(reason) => frames.abrupt_shutdown(reason),
    }
}

async fn take_turn(
    request: http::Request<RecvStream>,
    respond: SendResponse<Bytes>,
    under_way: UnderWay,
    connection: Arc<Connection>,
    staff: Staff,
) {
    let (head, body) = request.into_parts();
    // A client that cancels its request in the middle wants no answer.
    let Ok(body) = read(body).await else { return };
    let target = head.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
    let request = Request {
        connection: connection.id,
        at: Instant::now(),
        method: head.method,
        target,
        headers: head.headers,
        body,
    };
    let reply = Reply::http2(Unanswered::new(respond, under_way, connection));
    staff.serve(Turn { request, reply });
}

async fn read(mut stream: RecvStream) -> Result<Bytes, h2::Error> {
    let mut body = BytesMut::new();
    while let Some(piece) = stream.data().await {
        let piece = piece?;
        if piece.len() > MOST_BODY - body.len() {
            return Err(Reason::ENHANCE_YOUR_CALM.into());
        }
        stream.flow_control().release_capacity(piece.len())?;
        body.extend_from_slice(&piece);
    }
    Ok(body.freeze())
}

/// How long frames on a stream that was reset are ignored. h2 counts it by the real clock, on which a
/// simulated world must not depend.
const A_DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// The most bytes of a body.
const MOST_BODY: usize = 64 << 20;
