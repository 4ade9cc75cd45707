"""The doors between a framework and the backend: each is opened for one order, with a home of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from catalogue import HERE, LOSSES, LOSSES_ALONE, Framework
from processes import process

DIED = ["died"]
"""How a server on stdio loses an answer."""
BACKEND = [sys.executable, str(HERE / "backend.py")]
Server = dict[str, Any]


@dataclass(frozen=True)
class Setting:
    """What a door is opened for."""

    ridethrough: str
    home: Path
    journal: Path
    url: str
    """The backend, with the loss of this order."""
    flags: tuple[str, ...]


@dataclass(frozen=True)
class Door:
    """A way from a framework to the backend."""

    name: str
    open: Callable[[Setting], AbstractContextManager[Server]]
    command: str | None
    """The command of ours that stands between, if there is one."""
    losses: list[str]
    is_sampled: bool = False
    is_package: bool = False
    is_started: bool = False
    """Whether the framework itself starts our program."""
    is_local: bool = False
    """Whether the server behind it is a process that has ended once an answer is lost."""

    @property
    def is_ours(self) -> bool:
        return self.command is not None or self.is_package

    def serves(self, framework: Framework) -> bool:
        return framework.is_python or not self.is_package


def environment(home: Path) -> dict[str, str]:
    """Nothing that an earlier order has left, and nothing of the person at this machine."""
    names = ["HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"]
    return {"PATH": os.environ["PATH"], **{name: str(home) for name in names}}


@contextmanager
def listening(words: list[str], home: Path) -> Iterator[str]:
    """Starts a program whose first line says where it listens; returns that line."""
    with open(home / "log", "wb") as log, process(words, stderr=log, env=environment(home)) as its:
        assert its.stdout is not None
        line = its.stdout.readline().strip()
        if not line:
            raise RuntimeError(f"{' '.join(words[:2])} ended: {(home / 'log').read_text()[-500:]}")
        yield line


def gateway_file(setting: Setting) -> str:
    path = setting.home / "servers.json"
    path.touch(0o600)
    path.write_text(json.dumps({"servers": {"it": {"url": setting.url, "prefix": False}}}))
    return str(path)


def started(setting: Setting, *words: str) -> Server:
    """A server that the framework starts by itself."""
    return {"command": setting.ridethrough, "args": list(words), "env": environment(setting.home)}


@contextmanager
def alone(setting: Setting) -> Iterator[Server]:
    yield {"url": setting.url}


@contextmanager
def bridge(setting: Setting) -> Iterator[Server]:
    yield started(setting, "bridge", setting.url, *setting.flags)


@contextmanager
def gateway_http(setting: Setting) -> Iterator[Server]:
    words = ["gateway", "--listen", "127.0.0.1:0", "--no-token", *setting.flags, "--config", gateway_file(setting)]
    with listening([setting.ridethrough, *words], setting.home) as url:
        yield {"url": url}


@contextmanager
def gateway_stdio(setting: Setting) -> Iterator[Server]:
    yield started(setting, "gateway", "--stdio", *setting.flags, "--config", gateway_file(setting))


@contextmanager
def expose(setting: Setting) -> Iterator[Server]:
    words = ["expose", "--listen", "127.0.0.1:0", "--no-token", *setting.flags, "--", *BACKEND, "stdio"]
    with listening([setting.ridethrough, *words, str(setting.journal)], setting.home) as url:
        yield {"url": url}


DOORS = [
    Door("alone", alone, None, LOSSES_ALONE, is_sampled=True),
    Door("bridge", bridge, "bridge", LOSSES, is_sampled=True, is_started=True),
    Door("gateway", gateway_http, "gateway", LOSSES, is_sampled=True),
    Door("gateway --stdio", gateway_stdio, "gateway", LOSSES, is_started=True),
    Door("expose", expose, "expose", DIED, is_local=True),
    Door("package", alone, None, LOSSES, is_sampled=True, is_package=True),
]


def forms(ridethrough: str, door: Door) -> dict[str, tuple[str, ...]]:
    """The forms of doubt that a door can be asked for, and the flags that ask for each; the package takes none."""
    if door.is_package:
        return {"result": (), "error": ()}
    return {"": ()} if door.command is None else forms_of_command(ridethrough, door.command)


@cache
def forms_of_command(ridethrough: str, command: str) -> dict[str, tuple[str, ...]]:
    help_text = subprocess.run([ridethrough, command, "--help"], capture_output=True, text=True, check=True).stdout
    if "--doubt" not in help_text:
        return {"error": ()}
    return {"result": ("--doubt", "result"), "error": ("--doubt", "error")}


@contextmanager
def backend(journal: Path) -> Iterator[str]:
    """Starts the backend; returns its URL without the loss."""
    with tempfile.TemporaryDirectory() as home, listening([*BACKEND, "http", str(journal)], Path(home)) as port:
        yield f"http://127.0.0.1:{port}"
