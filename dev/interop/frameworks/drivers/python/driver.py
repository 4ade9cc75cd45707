"""What every driver on Python does: it reads orders from stdin, plays each, and prints what the model was shown.

An order is a line of JSON: `key`, `steps` (the tools that the model calls, one after the other), `seconds` (the most
that it may take), and the server, by `url` or by `command`, `args` and `env`. The answer is a line, too: `shown` (for
each call the text that came back to the model, or None) and `raised` (what came out of the framework, or None).

With RIDETHROUGH_PACKAGE in the environment the framework's HTTP goes over our transport, and `doubt` of the order is
the form in which that tells of a call that may have run.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import traceback
from collections.abc import Awaitable, Callable
from typing import Any

Order = dict[str, Any]
IS_PACKAGE = bool(os.environ.get("RIDETHROUGH_PACKAGE"))
CALL_SECONDS = 30
"""The frameworks' own limits of 5 s would end calls that the client still waits for."""


class Script:
    """What the model does: it calls the tools of its order, and says that it is done."""

    def __init__(self, order: Order) -> None:
        self.arguments = {"key": order["key"]}
        self.steps: list[str] = order["steps"]
        self.shown: list[str | None] = []
        self.call_id = ""
        self._begun = 0

    def next(self, shown: str | None) -> str | None:
        """Takes what the model was shown for its last call; returns the tool that it calls next."""
        if self._begun > 0:
            self.shown.append(shown)
        self._begun += 1
        self.call_id = f"call-{self._begun}"
        return self.steps[self._begun - 1] if self._begun <= len(self.steps) else None


Play = Callable[[Order, Script], Awaitable[None]]


async def play_calls(script: Script, call: Callable[[str, dict[str, str]], Awaitable[str]]) -> None:
    """For a client without a model: what a call raises is what its program has to show."""
    shown = None
    while (tool := script.next(shown)) is not None:
        try:
            shown = await call(tool, script.arguments)
        except Exception as error:
            shown = f"raised {words(error)}"


def words(error: BaseException) -> str:
    """The errors of a group, and else its type and words."""
    # Python 3.10 has no type for groups; its backport has this member, too.
    inner = getattr(error, "exceptions", ())
    return "; ".join(map(words, inner)) or f"{type(error).__name__}: {error}"


async def played(play: Play, order: Order) -> dict[str, Any]:
    script, raised = Script(order), None
    try:
        await asyncio.wait_for(play(order, script), order["seconds"])
    except asyncio.TimeoutError:
        raised = "HUNG"
    except Exception as error:
        traceback.print_exc()
        raised = words(error)
    return {"shown": script.shown, "raised": raised}


def main(play: Play) -> None:
    """Plays each order of stdin. Frameworks print: only answers reach the real stdout."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        order = json.loads(line)
        if IS_PACKAGE:
            import ridethrough.mcp

            ridethrough.mcp.install(doubt=order["doubt"])
        answer = asyncio.run(played(play, order))
        print(json.dumps(answer), file=answers, flush=True)
