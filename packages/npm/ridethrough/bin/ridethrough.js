#!/usr/bin/env node
// Runs the program of this platform, which is a package of its own, with our arguments, streams and signals.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const { isatty } = require("node:tty");

const platform = `${process.platform}-${process.arch}`;

function program() {
  try {
    return require.resolve(`@ridethrough/${platform}/bin/ridethrough`);
  } catch {
    const known = Object.keys(require("../package.json").optionalDependencies ?? {});
    const wanted = `@ridethrough/${platform}`;
    const hint = known.includes(wanted)
      ? "npm was told to leave out optional packages: install without --omit=optional"
      : "with Rust: cargo install --locked ridethrough-cli";
    process.stderr.write(`ridethrough: the package \`${wanted}\` is not installed\nhint: ${hint}\n`);
    process.exit(1);
  }
}

const path = program();
if (typeof process.execve === "function") {
  // The program takes our place, so that there is nothing to pass on. Older versions of Node have no such function.
  process.execve(path, ["ridethrough", ...process.argv.slice(2)], process.env);
}

const child = spawn(path, process.argv.slice(2), { stdio: "inherit", argv0: "ridethrough" });

// A terminal signals the program itself, too. It must not take one Ctrl-C for two: the second ends it at once.
// `process.stdin` is not touched: it would make the stream that the program reads non-blocking.
const terminal = [0, 1, 2].some(isatty);
for (const signal of ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM"]) {
  const fromTerminal = signal !== "SIGTERM" && terminal;
  process.on(signal, () => fromTerminal || child.kill(signal));
}

child.on("error", (error) => {
  process.stderr.write(`ridethrough: \`${path}\` could not be started: ${error.message}\nhint: install the package again\n`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
