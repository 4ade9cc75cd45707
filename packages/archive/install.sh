#!/bin/sh
# Installs ridethrough from an archive, after checking its SHA-256. Needs no rights beyond yours and changes no settings.
set -eu

# Both are filled in when a release is made.
version=
releases=

usage() {
  cat <<'TEXT'
Usage: install.sh [--to DIR] [--from PLACE] [--sha256 HEX] [--help]

Unpacks the archive of this platform into DIR: bin/ridethrough and bin/ridethrough-lab, man pages and
completions below share.

  --to DIR       where it goes [default: ~/.local]
  --from PLACE   a folder or an https URL that holds the archive and the file SHA256SUMS
  --sha256 HEX   what the archive's SHA-256 must be, in place of what SHA256SUMS says
  --help         print this

To remove it: `rm DIR/bin/ridethrough DIR/bin/ridethrough-lab DIR/share/man/man1/ridethrough*`, and the completions below DIR/share.
Exit codes: 0 installed, 1 it was not, 2 wrong usage.
TEXT
}

# Stops with what is wrong and, on the next line, what to do about it.
fail() {
  printf 'install.sh: %s\nhint: %s\n' "$2" "$3" >&2
  exit "$1"
}

has() {
  command -v "$1" >/dev/null 2>&1
}

# Brings one file of the place to a path.
bring() {
  case $from in
    https://*)
      if has curl; then
        curl --proto '=https' --tlsv1.2 --fail --silent --show-error --location --output "$2" "$from/$1"
      elif has wget; then
        wget --https-only --quiet --output-document="$2" "$from/$1"
      else
        fail 1 'there is neither curl nor wget' "download $from/$1 and SHA256SUMS, then run install.sh --from FOLDER"
      fi
      ;;
    *) cp "$from/$1" "$2" ;;
  esac || fail 1 "\`$1\` could not be had from \`$from\`" 'is the place right, and does it have a package for this platform?'
}

digest() {
  if has sha256sum; then
    sha256sum "$1" | cut -d ' ' -f 1
  elif has shasum; then
    shasum -a 256 "$1" | cut -d ' ' -f 1
  elif has openssl; then
    openssl dgst -sha256 -r "$1" | cut -d ' ' -f 1
  else
    fail 1 'nothing here computes SHA-256, so the archive cannot be checked' 'install coreutils, shasum or openssl'
  fi
}

to=${HOME:-}/.local from=$releases wanted=
while [ $# -gt 0 ]; do
  case $1 in
    --to | --from | --sha256)
      if [ $# -lt 2 ] || [ -z "$2" ]; then fail 2 "$1 takes a value" 'install.sh --help lists the flags'; fi
      case $1 in
        --to) to=$2 ;;
        --from) from=$2 ;;
        --sha256) wanted=$2 ;;
      esac
      shift 2
      ;;
    --help | -h)
      usage
      exit 0
      ;;
    *) fail 2 "unknown flag \`$1\`" 'install.sh --help lists the flags' ;;
  esac
done

if [ -z "$version" ]; then
  fail 2 'this copy of the installer belongs to no release' 'take the one that lies beside the archive'
fi
case $from in
  '') fail 2 'this copy of the installer does not know where releases are' 'install.sh --from PLACE names the folder or URL' ;;
  http://*) fail 2 "\`$from\` is not encrypted" 'name an https URL or a folder' ;;
esac

case $(uname -s)-$(uname -m) in
  Linux-x86_64 | Linux-amd64) platform=x86_64-unknown-linux-gnu ;;
  *)
    fail 1 "there is no archive for $(uname -s) on $(uname -m)" 'with Rust: cargo install --locked ridethrough-cli'
    ;;
esac

name=ridethrough-$version-$platform
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

printf 'ridethrough %s for %s, from %s\n' "$version" "$platform" "$from" >&2
bring "$name.tar.gz" "$work/archive"
if [ -z "$wanted" ]; then
  bring SHA256SUMS "$work/sums"
  wanted=$(awk -v name="$name.tar.gz" '$2 == name || $2 == "*" name { print $1 }' "$work/sums")
  if [ -z "$wanted" ]; then fail 1 "SHA256SUMS does not name $name.tar.gz" 'take both from one release'; fi
fi
found=$(digest "$work/archive")
if [ "$found" != "$wanted" ]; then
  fail 1 "the archive is not the one that was released: its SHA-256 is $found, not $wanted" \
    'nothing was installed; download it again, and report it if this happens twice'
fi
tar -xzf "$work/archive" -C "$work"
if ! "$work/$name/bin/ridethrough" --version >/dev/null; then
  fail 1 'the program does not run here' 'it needs glibc 2.34 or newer; with Rust: cargo install --locked ridethrough-cli'
fi

mkdir -p "$to/bin" "$to/share"
cp -R "$work/$name/share/." "$to/share"
# A program that runs keeps its file: the new one takes the place of the name, not of the contents.
for program in ridethrough ridethrough-lab; do
  cp "$work/$name/bin/$program" "$to/bin/.$program.new"
  mv -f "$to/bin/.$program.new" "$to/bin/$program"
done

printf 'installed %s\n' "$to/bin/ridethrough" >&2
case :${PATH:-}: in
  *":$to/bin:"*) ;;
  *) printf 'hint: %s is not in your PATH\n' "$to/bin" >&2 ;;
esac
printf 'hint: see it work: %s demo\n' "$to/bin/ridethrough" >&2
