//! Where and how a connection is cut: one point of the torture, and its name on a command line.

use std::fmt;

use ridethrough_lab::Protocol;

use crate::net::{Break, Harm, Way};

/// One run with one cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// The script.
    pub exchange: &'static str,
    /// The protocol that it is played over.
    pub protocol: Protocol,
    /// Which connection; the first is 0.
    pub dial: u64,
    /// How it breaks, and where.
    pub harm: Harm,
}

impl fmt::Display for Point {
    /// Writes the command that plays it again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { exchange, protocol, dial, harm } = self;
        write!(
            f,
            "ridethrough-sim torture --exchange {exchange} --protocol {} --dial {dial} --way {} --at {} --break {}",
            protocol_name(*protocol),
            way_name(harm.way),
            harm.after,
            break_name(harm.breaks),
        )
    }
}

/// The protocols that are tortured. TLS is left out: under it a cut falls into a record, which is one more
/// layer that loses the bytes behind the cut.
pub const PROTOCOLS: [(&str, Protocol); 2] =
    [("http1", Protocol::Http1), ("http2", Protocol::Http2)];

/// Both directions.
pub const WAYS: [(&str, Way); 2] = [("to-client", Way::ToClient), ("to-server", Way::ToServer)];

/// Every way to break a connection for good.
pub const BREAKS: [(&str, Break); 4] = [
    ("reset", Break::Reset),
    ("reset-at-once", Break::ResetAtOnce),
    ("fin", Break::Fin),
    ("stall", Break::Stall),
];

pub(super) fn protocol_name(protocol: Protocol) -> &'static str {
    named(&PROTOCOLS, protocol)
}

fn way_name(way: Way) -> &'static str {
    named(&WAYS, way)
}

fn break_name(breaks: Break) -> &'static str {
    named(&BREAKS, breaks)
}

fn named<T: PartialEq + Copy>(names: &[(&'static str, T)], wanted: T) -> &'static str {
    names.iter().find(|(_, it)| *it == wanted).map_or("?", |(name, _)| name)
}
