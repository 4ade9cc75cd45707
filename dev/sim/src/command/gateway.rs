//! The command `gateway`: worlds with a gateway between clients and servers.

use std::io::{self, Write};

use anyhow::{Result, anyhow};
use clap::Subcommand;
use ridethrough_sim::gateway::GatewayWorld;

use super::replay::tell;
use super::run::RunArgs;

/// Worlds with a gateway between clients and servers of both eras
#[derive(clap::Args)]
pub(crate) struct GatewayArgs {
    #[command(subcommand)]
    command: GatewayCommand,
}

#[derive(Subcommand)]
enum GatewayCommand {
    /// Live through many worlds
    Run(RunArgs),
    /// Live through one world again, and tell what happens in it
    Replay {
        /// Its seed
        seed: u64,
        /// How many calls in it
        #[arg(long, default_value_t = 100)]
        calls: u64,
        /// Its faults, in place of those that the seed draws: `cut=80,kills=2`, or `none`
        #[arg(long, value_name = "NAME=RATE,...")]
        faults: Option<String>,
    },
}

impl GatewayArgs {
    pub(super) fn play(self) -> Result<bool> {
        match self.command {
            GatewayCommand::Run(args) => {
                args.play_with("gateway ", |seed, calls| GatewayWorld::of_seed(seed, calls).live())
            }
            GatewayCommand::Replay { seed, calls, faults } => {
                replay(seed, calls, faults.as_deref())
            }
        }
    }
}

fn replay(seed: u64, calls: u64, faults: Option<&str>) -> Result<bool> {
    let mut world = GatewayWorld::of_seed(seed, calls);
    if let Some(text) = faults {
        world.faults = text.parse().map_err(|it: String| anyhow!(it))?;
    }
    let lived = world.traced();
    let out = &mut io::stdout().lock();
    writeln!(out, "faults: {}", world.faults)?;
    out.write_all(lived.trace.as_bytes())?;
    tell(out, &lived)?;
    Ok(lived.violations.is_empty())
}
