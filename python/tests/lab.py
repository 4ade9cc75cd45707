"""Plays the lab's scenarios on the Python package, and compares the verdicts with those of the Rust client.

    python tests/lab.py RIDETHROUGH FOLDER [--sample | --only IDS]

RIDETHROUGH is the program, and FOLDER is where it installs the frameworks. Scenarios in which a framework
decides by itself are in `lab_exceptions.txt`, with a reason each; any other difference fails. `--sample` plays a
few scenarios on the client and on the official SDK over our transport, and needs no other package.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
ADAPTERS = HERE.parents[1] / "crates/lab/clients"
CONTESTANTS = ["ridethrough-python", "python+ridethrough", "fastmcp+ridethrough", "langchain+ridethrough"]
MOST_EXEMPT = 12
# A lost session, a stream that cannot be resumed, a busy server, a call that may have run, a notification.
SAMPLE = {"ridethrough-python": "A4,B2,D1,D7,H3,I4,K6,L2", "python+ridethrough": "A4,D1,K6"}


def main() -> int:
    program, folder = sys.argv[1:3]
    if sys.argv[3:] == ["--sample"]:
        return max(sample(program, name, only) for name, only in SAMPLE.items())
    return compare(program, folder, sys.argv[3:])


def sample(program: str, name: str, only: str) -> int:
    """Plays a few scenarios, all of which must pass; returns the exit code."""
    client = f"{sys.executable} {ADAPTERS / name / 'adapter.py'}"
    path = os.pathsep.join([str(ADAPTERS), os.environ["PYTHONPATH"]])
    return subprocess.run(
        [program, "lab", "run", "--strict", "--replay-late", "2", "--client", client, "--name", name, "--only", only],
        env={**os.environ, "PYTHONPATH": path},
    ).returncode


def compare(program: str, folder: str, choice: list[str]) -> int:
    """Plays every contestant beside the Rust client, and prints the differences; returns the exit code."""
    with tempfile.TemporaryDirectory() as scratch:
        file = f"{scratch}/verdicts.json"
        command = [program, "lab", "compare", "--clients", ",".join(CONTESTANTS), "--dir", folder, "--json", file]
        done = subprocess.run([*command, *choice], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            print(done.stderr)
            return 1
        played = {client["name"]: client for client in json.loads(Path(file).read_text())["clients"]}
    problems = []
    for name in CONTESTANTS:
        if "not_run" in played[name]:
            print(f"{name} is skipped: {played[name]['not_run']}")
            continue
        found = differences(verdicts(played["ridethrough"]), verdicts(played[name]), exceptions(name))
        print(f"{name}: {len(verdicts(played[name]))} scenarios, {len(found)} differences that are not listed")
        problems += [f"{name} {each}" for each in found]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


def verdicts(client: dict[str, object]) -> dict[str, str]:
    scenarios = client["scenarios"]
    assert isinstance(scenarios, dict)
    return {id: told["verdict"] for id, told in scenarios.items()}


def differences(ours: dict[str, str], theirs: dict[str, str], exempt: set[str]) -> list[str]:
    """Returns the scenarios whose verdict is not that of the Rust client, but for the exempt ones."""
    return [
        f"{id}: {theirs[id]}, and the Rust client {ours[id]}"
        for id in ours
        if id in theirs and theirs[id] != ours[id] and id not in exempt
    ]


def exceptions(name: str) -> set[str]:
    """Returns the scenarios in which a framework itself decides; a line names one, and then the contestants."""
    lines = (HERE / "lab_exceptions.txt").read_text().splitlines()
    listed = [line.split() for line in lines if line.strip() and not line.startswith("#")]
    assert len({id for id, *_ in listed}) <= MOST_EXEMPT, "too many scenarios are exempt"
    return {id for id, *names in listed if name in names}


if __name__ == "__main__":
    sys.exit(main())
