//! Runs many worlds one after the other, and adds up the results.

use std::collections::BTreeMap;
use std::fmt;

use ridethrough_core::Moment;
use ridethrough_core::rng::Rng;
use ridethrough_wire::message::Answer;

use crate::Violation;
use crate::machine::eras::Setting;
use crate::machine::faults::MachineFaults;
use crate::machine::oracle::MachineOracle;
use crate::machine::world::MachineWorld;

/// How much to simulate.
#[derive(Clone, Copy, Debug)]
pub struct MachinePlan {
    /// The first seed.
    pub first_seed: u64,
    /// How many calls in all.
    pub calls: u64,
    /// How many of them in each world.
    pub calls_per_seed: u64,
    /// The eras of the worlds.
    pub worlds: Worlds,
}

impl Default for MachinePlan {
    fn default() -> Self {
        let worlds = Worlds::Legacy;
        Self { first_seed: 1, calls: 1_000_000, calls_per_seed: 200, worlds }
    }
}

/// The eras that worlds may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Worlds {
    /// Both, on either side, with servers that change theirs at any point.
    Both,
    /// Sessions only.
    Legacy,
}

impl Worlds {
    /// Returns the eras of a seed's world.
    pub fn setting(self, seed: u64) -> Setting {
        match self {
            Self::Both => Setting::draw(&mut Rng::new(seed ^ 0x0e7a_5eed)),
            Self::Legacy => Setting::legacy(),
        }
    }
}

/// The results of a simulation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MachineSummary {
    /// The number of worlds.
    pub seeds: u64,
    /// Calls made.
    pub calls: u64,
    /// Calls that were answered.
    pub answered: u64,
    /// The failures and refusals that the machine met.
    pub faults: u64,
    /// How often servers ran a tool.
    pub executions: u64,
    /// How many runs a server denied.
    pub lies: u64,
    /// Virtual time, in seconds.
    pub seconds: u64,
    /// Calls that ended without an answer, by kind.
    pub endings: BTreeMap<String, u64>,
    /// Broken promises.
    pub violations: Vec<Violation>,
}

impl MachineSummary {
    /// Returns how often each promise was broken.
    pub fn broken_promises(&self) -> BTreeMap<&'static str, u64> {
        let mut broken = BTreeMap::new();
        for violation in &self.violations {
            *broken.entry(violation.promise).or_default() += 1;
        }
        broken
    }
}

impl fmt::Display for MachineSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "simulated: {} calls, {} faults, {} seeds, {} answered, {} executions, {} lies, \
             {} h of virtual time, violations {}",
            self.calls,
            self.faults,
            self.seeds,
            self.answered,
            self.executions,
            self.lies,
            self.seconds / 3600,
            self.violations.len()
        )
    }
}

/// Runs as many worlds as the plan asks for; `progress` gets the number of calls so far.
pub fn run(plan: MachinePlan, mut progress: impl FnMut(u64)) -> MachineSummary {
    let mut summary = MachineSummary::default();
    let mut seed = plan.first_seed;
    while summary.calls < plan.calls {
        add(&mut summary, run_seed(seed, plan.worlds, plan.calls_per_seed));
        seed += 1;
        progress(summary.calls);
    }
    summary
}

/// Runs the world that a seed draws.
pub fn run_seed(seed: u64, worlds: Worlds, calls: u64) -> MachineSummary {
    let faults = MachineFaults::draw(&mut Rng::new(seed ^ 0xfa17_5eed));
    run_world(seed, faults, worlds.setting(seed), calls)
}

/// Runs one world: chaos, healing, and the end.
pub fn run_world(seed: u64, faults: MachineFaults, setting: Setting, calls: u64) -> MachineSummary {
    let mut world = MachineWorld::new(seed, faults, setting);
    world.listen();
    world.plan(calls);
    world.live();
    world.heal();
    recover(&mut world);
    world.close();
    summarise(world)
}

/// Checks that the link recovers by itself within minutes, once the server works again.
fn recover(world: &mut MachineWorld) {
    let began = world.now;
    let mut last = String::new();
    while world.now.since(began).as_secs() < 180 {
        match world.call_and_wait() {
            Ok(Answer::Result(_)) => return,
            Ok(Answer::Error(error)) => {
                last = error.as_str().to_owned();
                world.pass(std::time::Duration::from_millis(100));
            }
            Err(error) if MachineOracle::is_passing(error.kind) => {
                last = error.report();
                let wait = error.retry_after.unwrap_or_default();
                world.pass(wait + std::time::Duration::from_millis(100));
            }
            Err(_) => break,
        }
    }
    let what = format!("no call succeeded for 3 min; the last one: {last}");
    world.oracle.broken("a healed server is used again", what);
}

fn summarise(world: MachineWorld) -> MachineSummary {
    let mut summary = MachineSummary {
        seeds: 1,
        calls: world.outcomes.len() as u64,
        faults: world.faults_met,
        executions: world.oracle.executions,
        lies: world.oracle.lies,
        seconds: world.now.since(Moment::START).as_secs(),
        ..MachineSummary::default()
    };
    for outcome in world.outcomes.values() {
        match outcome {
            Ok(_) => summary.answered += 1,
            Err(error) => *summary.endings.entry(format!("{:?}", error.kind)).or_default() += 1,
        }
    }
    summary.violations = world.oracle.violations;
    summary
}

fn add(total: &mut MachineSummary, one: MachineSummary) {
    total.seeds += one.seeds;
    total.calls += one.calls;
    total.answered += one.answered;
    total.faults += one.faults;
    total.executions += one.executions;
    total.lies += one.lies;
    total.seconds += one.seconds;
    for (kind, count) in one.endings {
        *total.endings.entry(kind).or_default() += count;
    }
    total.violations.extend(one.violations);
}
