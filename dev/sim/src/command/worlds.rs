//! The commands `auth` and `gateway`: worlds of another kind than those of `run` and `replay`.

use std::fmt::Display;
use std::io::{self, Write};
use std::str::FromStr;

use anyhow::{Result, anyhow};
use clap::Subcommand;
use ridethrough_sim::auth::{AuthFaults, AuthWorld};
use ridethrough_sim::gateway::{GatewayFaults, GatewayWorld};
use ridethrough_sim::world::Lived;

use super::replay::{tell, timed};
use super::run::RunArgs;

#[derive(clap::Args)]
pub(crate) struct WorldsArgs {
    #[command(subcommand)]
    command: WorldsCommand,
}

#[derive(Subcommand)]
enum WorldsCommand {
    /// Live through many worlds
    Run(RunArgs),
    /// Live through one world again, and tell what happens in it
    Replay {
        /// Its seed
        seed: u64,
        /// How many calls in it
        #[arg(long, default_value_t = 100)]
        calls: u64,
        /// Its faults, in place of those that the seed draws: `slow=90,kills=2`, or `none`
        #[arg(long, value_name = "NAME=RATE,...")]
        faults: Option<String>,
    },
}

/// A world that is drawn from a seed and can be lived again.
pub(super) trait SeededWorld: Sized {
    type Faults: Display + FromStr<Err = String>;
    /// What stands before `replay` in the command.
    const NAME: &'static str;

    fn of_seed(seed: u64, calls: u64) -> Self;
    fn faults(&mut self) -> &mut Self::Faults;
    fn live(&self) -> Lived;
    fn traced(&self) -> Lived;
}

impl WorldsArgs {
    pub(super) fn play<W: SeededWorld>(self) -> Result<bool> {
        match self.command {
            WorldsCommand::Run(args) => {
                args.play_with(W::NAME, |seed, calls| W::of_seed(seed, calls).live())
            }
            WorldsCommand::Replay { seed, calls, faults } => {
                replay(W::of_seed(seed, calls), faults.as_deref())
            }
        }
    }
}

fn replay(mut world: impl SeededWorld, faults: Option<&str>) -> Result<bool> {
    if let Some(text) = faults {
        *world.faults() = text.parse().map_err(|it: String| anyhow!(it))?;
    }
    let lived = timed(|| world.traced());
    let out = &mut io::stdout().lock();
    writeln!(out, "faults: {}", world.faults())?;
    out.write_all(lived.trace.as_bytes())?;
    tell(out, &lived)?;
    Ok(lived.violations.is_empty())
}

macro_rules! kind {
    ($world:ty, $faults:ty, $name:literal) => {
        impl SeededWorld for $world {
            type Faults = $faults;
            const NAME: &'static str = $name;

            fn of_seed(seed: u64, calls: u64) -> Self {
                Self::of_seed(seed, calls)
            }

            fn faults(&mut self) -> &mut $faults {
                &mut self.faults
            }

            fn live(&self) -> Lived {
                self.live()
            }

            fn traced(&self) -> Lived {
                self.traced()
            }
        }
    };
}

kind!(AuthWorld, AuthFaults, "auth ");
kind!(GatewayWorld, GatewayFaults, "gateway ");
