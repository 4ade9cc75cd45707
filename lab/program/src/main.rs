//! Starts the program; everything else is in the library beside this file.

use std::process::ExitCode;

fn main() -> ExitCode {
    ridethrough_lab_program::main()
}
