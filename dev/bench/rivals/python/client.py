"""The official Python SDK (`mcp`) as a contestant of the bench: client.py URL. Everything is as it comes."""

import asyncio
import json
import sys
import time
from importlib.metadata import version
from resource import RUSAGE_SELF, getrusage

from mcp import Client

TEXT = "0123456789" * 10


def say(line):
    print(json.dumps(line), flush=True)


def cpu():
    used = getrusage(RUSAGE_SELF)
    return (used.ru_utime + used.ru_stime) * 1e6


async def calls(call, count, at_once):
    times = []

    async def several(share):
        for _ in range(share):
            began = time.perf_counter()
            await call()
            times.append((time.perf_counter() - began) * 1e6)

    before = cpu()
    at_once = max(1, min(at_once, count))
    shares = [count // at_once + (place < count % at_once) for place in range(at_once)]
    await asyncio.gather(*(several(share) for share in shares))
    spent = cpu() - before
    times.sort()
    at = lambda part: times[len(times) * part // 100]
    return {"calls": count, "p50_us": at(50), "p99_us": at(99), "cpu_us": spent / count}


async def main(url):
    async with Client(url) as client:

        async def echo():
            check(await client.call_tool("echo", {"text": TEXT}), TEXT)

        async def big():
            check(await client.call_tool("big", {}), "done")

        say({"ready": True, "name": "python", "version": version("mcp")})
        while True:
            match (await asyncio.to_thread(sys.stdin.readline)).split():
                case ["calls", count, at_once]:
                    say(await calls(echo, int(count), int(at_once)))
                case ["big", count]:
                    say(await calls(big, int(count), 1))
                case ["quit"] | []:
                    return
                case other:
                    raise ValueError(f"{other} is no command")


def check(result, wanted):
    if result.content[0].text != wanted:
        raise ValueError("the wrong text came back")


try:
    asyncio.run(main(sys.argv[1]))
except Exception as error:
    say({"error": repr(error)})
    sys.exit(1)
