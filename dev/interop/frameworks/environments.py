"""Installs the frameworks, each list of pins into a folder that is used again as long as the list does not change."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from collections.abc import Iterator
from pathlib import Path

from catalogue import HERE, REQUIREMENTS, Framework

ROOT = HERE.parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve()
SCRATCH = TARGET / "interop/frameworks"
INSTALL_SECONDS = 600


class NotBrought(Exception):
    """A package manager is missing, or did not bring what the pins name."""


def command(framework: Framework) -> list[str]:
    """Returns the command that starts a framework's driver; installs the framework first."""
    if framework.is_python:
        place = python_environment(framework.environment)
        return [str(place / "bin/python"), str(HERE / "drivers/python" / framework.driver), *framework.arguments]
    place = node_environment(framework.environment)
    return ["node", str(place / framework.driver), *framework.arguments]


def python_environment(name: str) -> Path:
    """An environment from a list of `python/requirements`; `python/test` makes and uses it likewise."""
    place, pins = TARGET / "python" / name, REQUIREMENTS / f"{name}.txt"
    with locked(place):
        stamp = place / "installed.txt"
        if stamp.exists() and stamp.read_text() == pins.read_text():
            return place
        shutil.rmtree(place, ignore_errors=True)
        bring([sys.executable, "-m", "venv", str(place)], ROOT)
        pip = [str(place / "bin/python"), "-m", "pip", "install", "-q", "--no-compile", "--retries", "2"]
        bring([*pip, "-r", str(pins)], ROOT)
        shutil.copy(pins, stamp)
    return place


def node_environment(name: str) -> Path:
    """A folder with the drivers of `drivers/NAME` and the packages of its lock file."""
    shutil.copytree(HERE / "drivers/typescript", SCRATCH / "typescript", dirs_exist_ok=True)
    place = SCRATCH / name
    shutil.copytree(HERE / "drivers" / name, place, dirs_exist_ok=True)
    with locked(place):
        stamp, pins = place / "installed.json", place / "package-lock.json"
        if not stamp.exists() or stamp.read_text() != pins.read_text():
            bring(["npm", "ci", "--no-audit", "--no-fund", "--fetch-retries=1"], place)
            shutil.copy(pins, stamp)
    return place


def bring(words: list[str], folder: Path) -> None:
    print(f"installing: {' '.join(words[-4:])}", file=sys.stderr)
    try:
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=INSTALL_SECONDS)
    except FileNotFoundError:
        raise NotBrought(f"{words[0]} is missing") from None
    except subprocess.TimeoutExpired:
        raise NotBrought(f"{words[0]} did not answer within {INSTALL_SECONDS} s") from None
    if done.returncode != 0:
        raise NotBrought(" / ".join((done.stdout + done.stderr).strip().splitlines()[-3:])[:300])


@contextmanager
def locked(place: Path) -> Iterator[None]:
    """Two runs that install into one folder would break each other's environment."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{place}.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def ridethrough_package() -> Path:
    """Puts the Python package and its native module together, for a PYTHONPATH."""
    built = next(
        (it for it in (TARGET / "debug/lib_native.dylib", TARGET / "debug/lib_native.so") if it.exists()), None
    )
    if built is None:
        raise NotBrought("the native module of the Python package is not built")
    package = SCRATCH / "package"
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(ROOT / "python/ridethrough", package / "ridethrough")
    shutil.copy(built, package / "ridethrough/_native.abi3.so")
    return package
