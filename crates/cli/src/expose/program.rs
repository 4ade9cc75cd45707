//! Checks that there is a program to start, before a client waits for it.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use ridethrough_bridge::harmless;

use crate::misuse::Misuse;
use crate::server::program::{is_path, places};

/// Looks for the program, as the system would. Returns its name as people may see it: arguments hold secrets,
/// and folders are private.
pub(super) fn check(command: &[OsString]) -> Result<String, Misuse> {
    let program = command.first().map(OsString::as_os_str).unwrap_or_default();
    let name = Path::new(program).file_name().unwrap_or(program).to_string_lossy();
    let name = harmless(&name);
    if places(program).iter().any(|place| is_program(place)) {
        return Ok(name);
    }
    Err(Misuse {
        what: format!("there is no program `{name}` to be started"),
        tried: if is_path(program) {
            "it was looked for where its path says".to_owned()
        } else {
            "it was looked for in the folders of PATH".to_owned()
        },
        hint: "write the command after `--`, as in `ridethrough expose -- npx -y some-server`"
            .to_owned(),
    })
}

fn is_program(place: &Path) -> bool {
    place.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_where_the_system_finds_them() {
        assert_eq!(check(&["sh".into(), "-c".into()]).unwrap(), "sh");
        assert_eq!(check(&["/bin/sh".into()]).unwrap(), "sh");
        for missing in ["", "no-such-program-anywhere", "/bin/no-such-program", "/etc/passwd", "/"]
        {
            let error = check(&[missing.into(), "--key=s3cret".into()]).unwrap_err().to_string();
            assert!(error.contains("there is no program") && !error.contains("s3cret"), "{error}");
        }
    }
}
