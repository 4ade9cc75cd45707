//! Serves one HTTP/1.1 connection, written by hand so that faults are exact.
//!
//! The reading half stays with the connection's task, which therefore always notices when the client closes.
//! The writing half goes to the handler that answers, as a [`Pen`], and comes back after a proper end.
//!
//! ```text
//! idle --first byte--> reading --whole request--> answering --pen returned--> idle
//!   '--order, FIN-------- closed <--bad request------'--pen closed, reset, FIN
//! ```

use std::sync::Arc;

use tokio::io::{AsyncWriteExt, WriteHalf};
use tokio::time::Instant;

use crate::connection::{Connection, Order};
use crate::staff::Staff;
use crate::turn::{Reply, Request, Turn};
use crate::wire::Wire;

mod frame;
mod pen;
mod read;
#[cfg(test)]
mod tests;

pub(crate) use frame::{Framing, write_head};
pub(crate) use pen::Pen;
use pen::{Fate, Returned};
use read::{Incoming, Reader};

type Half = WriteHalf<Box<dyn Wire>>;

pub(crate) async fn serve(wire: Box<dyn Wire>, connection: Arc<Connection>, staff: Staff) {
    let (reading, mut writing) = tokio::io::split(wire);
    let mut reader = Reader::new(reading);
    loop {
        let is_asked = tokio::select! {
            biased;
            order = connection.next_order() => return obey(order, writing).await,
            is_asked = reader.wait() => is_asked,
        };
        if !is_asked {
            return;
        }
        let Some(under_way) = connection.begin() else { continue };
        let incoming = match reader.request().await {
            Ok(incoming) => incoming,
            Err(_) => return refuse(writing).await,
        };
        let fate = if incoming.is_last { Fate::Close } else { Fate::Keep };
        let (pen, returned) = Pen::new(writing, under_way, connection.clone(), fate);
        staff.serve(turn(incoming, pen, &connection));
        match reader.watch(returned, &connection).await {
            Ok(Returned { half, fate: Fate::Keep }) => writing = half,
            Ok(Returned { half, fate: Fate::Close }) => return close(half).await,
            // Closed or reset by the handler.
            Err(_) => return,
        }
    }
}

fn turn(incoming: Incoming, pen: Pen, connection: &Connection) -> Turn {
    let Incoming { method, target, headers, body, .. } = incoming;
    let at = Instant::now();
    let request = Request { connection: connection.id, at, method, target, headers, body };
    Turn { request, reply: Reply::http1(pen) }
}

async fn obey(order: Order, mut writing: Half) {
    if let Order::Say(bytes) = order {
        // If the client is gone, there is no one to read it.
        let _ = writing.write_all(&bytes).await;
    }
    close(writing).await;
}

/// Answers bytes that are not a request, or a request that was cut short.
async fn refuse(mut writing: Half) {
    let refusal = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let _ = writing.write_all(refusal).await;
    close(writing).await;
}

async fn close(mut writing: Half) {
    // It fails if the client closed first, and then there is nothing left to close.
    let _ = writing.shutdown().await;
}
