// Makes the folders that `npm pack` packs: the package that people name, and the one with this platform's program.
// Prints their paths.  node assemble.js VERSION STAGE TO
"use strict";

const fs = require("node:fs");
const path = require("node:path");

const [version, stage, to] = process.argv.slice(2);
const root = path.join(__dirname, "..", "..");
const platform = `${process.platform}-${process.arch}`;
const platforms = JSON.parse(fs.readFileSync(path.join(__dirname, "platforms.json"), "utf8"));
if (!platforms[platform]) {
  console.error(`npm: there is no package for ${platform}\nhint: add it to packages/npm/platforms.json once the program is tested there`);
  process.exit(2);
}

const launcher = path.join(to, "ridethrough");
fs.cpSync(path.join(__dirname, "ridethrough"), launcher, { recursive: true });
fs.cpSync(path.join(stage, "share"), path.join(launcher, "share"), { recursive: true });
const manifest = JSON.parse(fs.readFileSync(path.join(launcher, "package.json"), "utf8"));
// `npm install --global` puts them where `man` looks.
const pages = fs.readdirSync(path.join(launcher, "share/man/man1")).sort();
finish(launcher, {
  ...manifest,
  version,
  man: pages.map((page) => `./share/man/man1/${page}`),
  // Exactly this version: a launcher and a program of two versions were never tested together.
  optionalDependencies: Object.fromEntries(Object.keys(platforms).map((name) => [`@ridethrough/${name}`, version])),
});

const native = path.join(to, platform);
const { os, cpu, libc } = platforms[platform];
fs.mkdirSync(path.join(native, "bin"), { recursive: true });
// The lab lies beside the program, which finds it there.
for (const program of ["bin/ridethrough", "bin/ridethrough-lab"]) {
  fs.copyFileSync(path.join(stage, program), path.join(native, program));
  fs.chmodSync(path.join(native, program), 0o755);
}
fs.writeFileSync(
  path.join(native, "README.md"),
  `# @ridethrough/${platform}\n\nThe program of the package \`ridethrough\` for ${platform}. Install \`ridethrough\`, which brings it.\n`,
);
finish(native, {
  name: `@ridethrough/${platform}`,
  version,
  description: `The program of ridethrough for ${platform}`,
  license: manifest.license,
  files: ["bin", "LICENSE-APACHE", "LICENSE-MIT"],
  os: [os],
  cpu: [cpu],
  libc: libc && [libc],
});

function finish(folder, contents) {
  for (const licence of ["LICENSE-APACHE", "LICENSE-MIT"]) {
    fs.copyFileSync(path.join(root, licence), path.join(folder, licence));
  }
  fs.writeFileSync(path.join(folder, "package.json"), `${JSON.stringify(contents, null, 2)}\n`);
  console.log(folder);
}
