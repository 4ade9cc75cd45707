"""The processes of a run. All of them end with it, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

_alive: set[subprocess.Popen[str]] = set()


@contextmanager
def process(words: list[str], **settings: Any) -> Iterator[subprocess.Popen[str]]:
    """Starts a process in a group of its own, and kills the group at the end."""
    its = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True, **settings)
    _alive.add(its)
    try:
        yield its
    finally:
        kill(its)
        its.wait()
        _alive.discard(its)
        for file in (its.stdin, its.stdout):
            if file is not None:
                # What a process that is gone has not read cannot be flushed.
                with suppress(OSError):
                    file.close()


def end_on_signals() -> None:
    """Has Ctrl-C and SIGTERM kill every process of the run, and end it."""

    def end(number: int, _: Any) -> None:
        for its in list(_alive):
            kill(its)
        # Threads still wait for what was killed.
        os._exit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)


def kill(its: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(its.pid, signal.SIGKILL)
