//! Runs this program under valgrind and reads the number of instructions.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::baseline::Counts;
use crate::workload::{ALL, Workload};

/// Checks whether valgrind is installed; if not, returns what to do about it.
pub(crate) fn is_there() -> Result<(), String> {
    let version = Command::new("valgrind").arg("--version").stdout(Stdio::null()).status();
    match version {
        Ok(status) if status.success() => Ok(()),
        _ => Err("valgrind is not installed (`apt-get install valgrind`)".to_owned()),
    }
}

/// Instructions of one turn of every workload.
pub(crate) fn count_all() -> Result<Counts> {
    ALL.iter().map(|workload| Ok((workload.name.to_owned(), count(workload)?))).collect()
}

fn count(workload: &Workload) -> Result<u64> {
    // Buffers grow to their size in the turns that are not counted.
    let few = workload.turns.div_ceil(10);
    let (few, many) = (total(workload, few)?, total(workload, few + workload.turns)?);
    let spent = many.checked_sub(few).context("more turns took fewer instructions")?;
    Ok(spent / workload.turns)
}

fn total(workload: &Workload, turns: u64) -> Result<u64> {
    let own = std::env::current_exe().context("this program does not know where it is")?;
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(own);
    // The environment is on the stack, so its size moves what is behind it.
    let path = std::env::var_os("PATH").unwrap_or_default();
    valgrind.args(["turn", workload.name, &turns.to_string()]).env_clear().env("PATH", path);
    let output = valgrind.output().context("valgrind cannot be started")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`{}` failed under valgrind:\n{said}", workload.name);
    collected(&said).with_context(|| format!("valgrind tells no count:\n{said}"))
}

/// Returns the count in valgrind's last output, such as `==7== Collected : 123456`.
fn collected(said: &str) -> Option<u64> {
    let line = said.lines().find_map(|line| line.split_once("Collected :"));
    line?.1.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_found_in_what_valgrind_says() {
        let said = "==1== Callgrind\n==1== \n==1== Events    : Ir\n==1== Collected : 12345\n==1== ";

        assert_eq!(collected(said), Some(12345));
        assert_eq!(collected("==1== Events : Ir"), None);
    }
}
