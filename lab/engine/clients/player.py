"""Plays a script of the lab on a client written in Python, and prints a line after each step.

The adapters give this file a class for their SDK; what is sent, repeated or given up is the SDK's own
doing. A step that fails is reported, and the next one is tried.
"""

import asyncio
import json
import sys
import time


def main(adapter):
    """Plays the script that the command line names.

    `adapter` is made from a URL, a token or None, a login or None, and a function that is told notifications. Entered by
    `async with` it connects and returns what the server said of itself, or, if its client goes on after a failure
    to connect, that failure; it has `call(tool, args, timeout)`,
    which returns text and whether the tool failed, and `request(method, params, timeout)`.
    """
    url, path = sys.argv[1:3]
    with open(path, encoding="utf-8") as file:
        script = json.load(file)
    asyncio.run(play(adapter, url, script))


async def play(adapter, url, script):
    player = Player(adapter, url)
    for place, step in enumerate(script):
        done = await timed(player.play(step))
        heard, player.heard[:] = list(player.heard), []
        print(json.dumps({"step": place, **done, "notifications": heard}), flush=True)
    player.let_go()


class Player:
    def __init__(self, adapter, url):
        self.adapter, self.url, self.heard, self.held = adapter, url, [], None

    async def play(self, step):
        return await getattr(self, step["op"])(**{key: step[key] for key in step if key != "op"})

    async def initialize(self, bearer=None, login=None):
        if self.held is not None:
            await asyncio.wait([self.held.closing()])
        self.held = Held(self.adapter(self.url, bearer, login, self.heard.append))
        return {"json": await self.held.connected()}

    async def call(self, tool, args=None, timeout_s=None, concurrency=None, cancel_after_s=None):
        if concurrency is None:
            return await self.one_call(tool, args or {}, timeout_s, cancel_after_s)
        numbered = [{**(args or {}), "msg": f"c{n}"} for n in range(concurrency)]
        calls = [timed(self.one_call(tool, args, timeout_s, cancel_after_s)) for args in numbered]
        ends = await asyncio.gather(*calls)
        failed = sum(not end["ok"] for end in ends)
        if failed:
            raise Partly(ends, f"{failed} of {len(ends)} failed")
        return ends

    async def one_call(self, tool, args, timeout, cancel_after):
        client = self.connected()
        calling = client.adapter.call(tool, args, timeout)
        text, is_error = await client.during(calling, cancel_after)
        return {"text": text, "isError": is_error}

    async def request(self, method, params=None, timeout_s=None):
        client = self.connected()
        return {"json": await client.during(client.adapter.request(method, params, timeout_s))}

    async def sleep(self, s):
        await asyncio.sleep(s)

    async def close(self):
        client, self.held = self.connected(), None
        await client.closing()

    def connected(self):
        if self.held is None:
            raise RuntimeError("not connected: there was no `initialize`")
        return self.held

    def let_go(self):
        if self.held is not None:
            self.held.task.cancel()


class Held:
    """A client inside its `async with`, in a task of its own: that block has one task from its beginning to its
    end, and the steps of a script do not nest as blocks do."""

    def __init__(self, adapter):
        self.adapter = adapter
        self.ready = asyncio.get_running_loop().create_future()
        self.enough = asyncio.Event()
        self.task = asyncio.create_task(self.hold())

    async def hold(self):
        async with self.adapter as server:
            self.ready.set_result(server)
            await self.enough.wait()

    async def connected(self):
        await asyncio.wait([self.ready, self.task], return_when=asyncio.FIRST_COMPLETED)
        if not self.ready.done():
            await self.task
        server = self.ready.result()
        if isinstance(server, Exception):
            raise server
        return server

    def closing(self):
        self.enough.set()
        return self.task

    async def during(self, asking, cancel_after=None):
        """What is asked, unless the caller cancels, or the block ends: an error that ends the block would have
        ended what is asked too, had it been written inside."""
        asked = asyncio.create_task(asking)
        both = [asked, self.task]
        await asyncio.wait(both, timeout=cancel_after, return_when=asyncio.FIRST_COMPLETED)
        if asked.done():
            return asked.result()
        asked.cancel()
        await asyncio.wait([asked])
        if not self.task.done():
            raise TimeoutError(f"cancelled by the caller after {cancel_after} s")
        await self.task
        raise RuntimeError("the client has ended")


class Doubt(Exception):
    """A result that ridethrough made in place of an answer, because the tool may have run."""


def answered(text, is_error, meta):
    """What `call` of an adapter of ours returns, unless it is a doubt: no tool has given that."""
    doubt = (meta or {}).get("ridethrough/doubt")
    if doubt is None:
        return text, is_error
    raise Doubt(f"{text} ({json.dumps(doubt)})")


class Partly(Exception):
    """A list of ends of which not all are good."""

    def __init__(self, ends, error):
        super().__init__(error)
        self.ends = ends


async def timed(doing):
    began = time.monotonic()
    try:
        done = {"ok": True, "result": await doing, "error": None}
    except Partly as partly:
        done = {"ok": False, "result": partly.ends, "error": str(partly)}
    # A client whose task group broke may cancel whoever talks to it.
    except (Exception, asyncio.CancelledError) as error:
        done = {"ok": False, "result": None, "error": told(error)}
    return {**done, "elapsed_ms": (time.monotonic() - began) * 1000}


def told(error):
    """An error as its user sees it: name, message, codes, and the same of those inside and behind it."""
    # `mcp` 1.x has them in an object of their own.
    facts_of = getattr(error, "error", error)
    code, data = getattr(facts_of, "code", None), getattr(facts_of, "data", None)
    facts = [f"code {code}"] if isinstance(code, int) else []
    facts += [f"data {data}"] if data is not None else []
    text = f"{type(error).__name__}: {error}" + (f" ({', '.join(facts)})" if facts else "")
    parts = [*getattr(error, "exceptions", []), *([error.__cause__] if error.__cause__ else [])]
    return "; ".join([text, *map(told, parts)])


def words(method, params):
    name = method.removeprefix("notifications/")
    if name != "message":
        return name
    data = params.data
    return f"message:{data if isinstance(data, str) else json.dumps(data)}"
