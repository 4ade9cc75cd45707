//! Brings the proxies from Debian's packages: only where this program is root and there is `apt-get`.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Result;
use tokio::process::Command;
use tokio::time::{Instant, sleep, timeout};

use crate::proxies::{Setup, is_root};

/// Installs what is missing, and returns those setups that can be started and a sentence for each other.
pub(crate) async fn prepare(
    wanted: Vec<&'static Setup>,
) -> Result<(Vec<&'static Setup>, Vec<String>)> {
    let missing: BTreeSet<_> =
        wanted.iter().filter(|it| !is_ready(it)).flat_map(|it| &it.packages).collect();
    let why = if missing.is_empty() { None } else { install(&missing).await.err() };
    let why = why.map_or_else(|| "it is not installed".to_owned(), |why| format!("{why:#}"));
    let (ready, absent): (Vec<_>, Vec<_>) = wanted.into_iter().partition(|it| is_ready(it));
    let skipped = absent.iter().map(|it| format!("{} skipped: {why}", it.label())).collect();
    Ok((ready, skipped))
}

fn is_ready(setup: &Setup) -> bool {
    setup.is_installed() && setup.packages.iter().all(|it| has_package(it))
}

/// Whether Debian's package manager has unpacked this package.
fn has_package(name: &str) -> bool {
    let folder = Path::new("/var/lib/dpkg/info");
    folder.join(format!("{name}.list")).exists()
}

async fn install(packages: &BTreeSet<&String>) -> Result<()> {
    anyhow::ensure!(
        is_root() && Path::new("/usr/bin/apt-get").exists(),
        "only root installs it by `apt-get`"
    );
    let _services = NoServices::here()?;
    let names: Vec<_> = packages.iter().map(|it| it.as_str()).collect();
    let command = Command::new("apt-get")
        .args(["install", "-y", "-q", "--no-install-recommends"])
        .args(&names)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .output();
    let telling = async {
        let began = Instant::now();
        loop {
            sleep(Duration::from_secs(2)).await;
            eprintln!("installing {} for {} s", names.join(", "), began.elapsed().as_secs());
        }
    };
    let output = tokio::select! {
        output = timeout(INSTALL_LIMIT, command) => output,
        () = telling => unreachable!("it tells for ever"),
    };
    let output = output.map_err(|_| anyhow::anyhow!("`apt-get` did not end in 5 min"))??;
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().last().unwrap_or_default();
    anyhow::ensure!(output.status.success(), "`apt-get` did not bring it: {last}");
    Ok(())
}

/// Keeps packages from starting their services while they are installed, as `invoke-rc.d` documents it.
struct NoServices {
    is_ours: bool,
}

impl NoServices {
    fn here() -> Result<Self> {
        if Path::new(POLICY).exists() {
            return Ok(Self { is_ours: false });
        }
        std::fs::write(POLICY, "#!/bin/sh\nexit 101\n")?;
        std::fs::set_permissions(POLICY, std::fs::Permissions::from_mode(0o755))?;
        Ok(Self { is_ours: true })
    }
}

impl Drop for NoServices {
    fn drop(&mut self) {
        if self.is_ours
            && let Err(error) = std::fs::remove_file(POLICY)
        {
            eprintln!("`{POLICY}` could not be removed: {error}");
        }
    }
}

const POLICY: &str = "/usr/sbin/policy-rc.d";
const INSTALL_LIMIT: Duration = Duration::from_secs(300);
