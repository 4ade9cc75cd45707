//! The faults of a world with a gateway: those of its servers and networks, and those of the gateway itself, of
//! its operator and of the people who are asked something.

use std::fmt;
use std::str::FromStr;

use ridethrough_core::rng::Rng;

use crate::rates::{Rates, fault_kinds};
use crate::world::{Fault, Faults};

fault_kinds! {
    /// A fault that only a world with a gateway has.
    GatewayFault

    // Of calls, in a thousand.
    /// The tool asks a person something before it runs.
    Questions "questions" 300,
    /// Of the questions: the person declines.
    Declined "declined" 200,
    /// Of the questions: the person takes up to a quarter of an hour.
    LateAnswers "late-answers" 200,
    /// Of the questions: the person never answers.
    NoAnswers "no-answers" 150,

    // Of the questions to callers that go through rounds themselves, in a thousand.
    /// The answer is sent twice.
    Twice "twice" 400,
    /// The answer comes with an altered `requestState` first.
    Altered "altered" 400,
    /// Another principal tries the `requestState` first.
    Foreign "foreign" 400,
    /// The `requestState` comes with the params of another call first.
    OtherParams "other-params" 400,

    // Events in a world of a hundred calls.
    /// The gateway is killed, and started again.
    Kills "kills" 2 event,
    /// The gateway is stopped in order, and started again.
    Stops "stops" 2 event,
    /// The config is read again, and only names change, if anything does.
    Reloads "reloads" 4 event,
    /// The config is read again, and the links to a server must be made anew.
    Touches "touches" 2 event,
    /// A server is taken out of the config for a while.
    Removals "removals" 2 event,
}

/// All faults of a world with a gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayFaults {
    /// Those of the servers, and of the networks on both sides of the gateway.
    pub servers: Faults,
    /// Those of the gateway.
    pub gateway: Rates<GatewayFault>,
}

impl GatewayFaults {
    /// Returns no faults.
    pub fn none() -> Self {
        Self { servers: Faults::none(), gateway: Rates::none() }
    }

    /// Draws the subset of a seed.
    pub(super) fn draw(rng: &mut Rng) -> Self {
        Self { servers: Faults::draw(rng), gateway: Rates::draw(rng) }
    }
}

impl fmt::Display for GatewayFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.gateway, self.servers)
    }
}

impl FromStr for GatewayFaults {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_own = |part: &&str| {
            let name = part.split('=').next().unwrap_or_default();
            GatewayFault::ALL.iter().any(|fault| fault.name() == name)
        };
        let (own, others): (Vec<&str>, Vec<&str>) = text.split(',').partition(is_own);
        Ok(Self { servers: others.join(",").parse()?, gateway: own.join(",").parse()? })
    }
}

/// Faults of servers that no client can survive by itself and that say nothing about a gateway: the clocks of
/// computers, on which its clients run.
pub(super) const LEFT_OUT: &[Fault] = &[Fault::Sleeps, Fault::ClockJumps];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_down_is_read_again() {
        for seed in 0..50 {
            let faults = GatewayFaults::draw(&mut Rng::new(seed));
            assert_eq!(faults.to_string().parse(), Ok(faults));
        }
        assert_eq!("none".parse(), Ok(GatewayFaults::none()));
        assert_eq!("none,none".parse(), Ok(GatewayFaults::none()));
        assert!("frogs=3".parse::<GatewayFaults>().is_err());
    }
}
