"""Plays the lab's scenarios on the Python package; the verdicts must be those of the Rust client, which passes all.

    python tests/lab.py RIDETHROUGH [--sample | --only IDS] CONTESTANT=PYTHON ...

RIDETHROUGH is the program, and PYTHON an interpreter that has what the contestant imports. Scenarios in which a
framework decides by itself are in `lab_exceptions.txt`, with a reason each; any other difference is played again,
alone, and then fails. `ridethrough lab compare` has these contestants, too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
ADAPTERS = HERE.parents[1] / "lab/engine/clients"
MOST_EXEMPT = 12
WITHOUT_LOGINS = "A,B,C,D,E,F,G,H,I,J,K"
EVERYTHING = f"{WITHOUT_LOGINS},L"
# A stream that cannot be resumed, a session lost by one call and by ten, a call that may have run.
SAMPLE = "A4,D1,D7,K6"


def main() -> int:
    program, *rest = sys.argv[1:]
    only = None
    if rest[0] == "--sample":
        only = SAMPLE
        rest = rest[1:]
    elif rest[0] == "--only":
        only = rest[1]
        rest = rest[2:]
    failed = False
    for contestant in rest:
        name, _, python = contestant.partition("=")
        # hermes-agent is about lost sessions, which its reports are about.
        default = {"ridethrough-python": EVERYTHING, "hermes": "D"}.get(name, WITHOUT_LOGINS)
        failed |= bool(differences(program, name, python, only or default))
    return int(failed)


def differences(program: str, name: str, python: str, only: str) -> list[str]:
    """Plays one contestant, and prints and returns the scenarios that it should have passed."""
    with started(name, python) as command:
        # Most of a sample is waiting; all of them together keep the machine busy, and limits of time are missed.
        verdicts = played(program, name, command, only, jobs="4" if only == SAMPLE else "2")
        missed = [id for id, verdict in verdicts.items() if verdict != "pass" and id not in exempt(name)]
        again = played(program, name, command, ",".join(missed), jobs="1") if missed else {}
    found = [f"{id}: {verdict}" for id, verdict in again.items() if verdict != "pass"]
    listed = sorted(id for id, verdict in verdicts.items() if verdict != "pass" and id in exempt(name))
    print(f"{name}: {len(verdicts)} scenarios, {len(listed)} exempt ({', '.join(listed)}), differences: {found or 'none'}")
    return found


@contextmanager
def started(name: str, python: str) -> Iterator[str]:
    """Imports an adapter in a process of its own, and yields the command that starts it from there."""
    adapter = HERE / "hermes_adapter.py" if name == "hermes" else ADAPTERS / name / "adapter.py"
    path = os.pathsep.join([str(ADAPTERS), os.environ["PYTHONPATH"]])
    with tempfile.TemporaryDirectory() as folder:
        socket, preloaded = f"{folder}/socket", str(HERE / "preloaded.py")
        process = subprocess.Popen(
            [python, preloaded, "serve", socket, str(adapter)],
            env={**os.environ, "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n", f"{name} cannot be imported"
        try:
            yield f"{sys.executable} -S {preloaded} {socket}"
        finally:
            process.kill()
            process.wait()


def played(program: str, name: str, command: str, only: str, jobs: str) -> dict[str, str]:
    """Plays scenarios, and returns the verdict of each."""
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/verdicts.json"
        options = ["--client", command, "--name", name, "--only", only, "--jobs", jobs, "--json", file]
        if name == "langchain+ridethrough":
            # `mcp` 1.x asks every server for a session.
            options.append("--bridge")
        done = subprocess.run(
            [program, "lab", "run", "--replay-late", "2", *options], stdout=subprocess.PIPE, text=True
        )
        if not Path(file).exists():
            raise SystemExit(f"{name} was not played: {done.stdout}")
        scores = json.loads(Path(file).read_text())["clients"][0]["scores"]
    for line in (line for line in done.stdout.splitlines() if not line.startswith("pass ")):
        print(line)
    return {score["id"]: score["verdict"] for score in scores}


def exempt(name: str) -> set[str]:
    """Returns the scenarios in which a framework itself decides; a line names one, and then the contestants."""
    lines = (HERE / "lab_exceptions.txt").read_text().splitlines()
    listed = [line.split() for line in lines if line.strip() and not line.startswith("#")]
    assert len({id for id, *_ in listed}) <= MOST_EXEMPT, "too many scenarios are exempt"
    return {id for id, *names in listed if name in names}


if __name__ == "__main__":
    sys.exit(main())
