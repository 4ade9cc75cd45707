"""Fails unless `import ridethrough` takes less than 50 ms, and the first use of its clients too.

That is the time of a new interpreter, less that of one that imports nothing. The best of 20 counts, because a busy
machine only adds to it; the median is printed beside it. On a slow machine the clients may take longer: twice what those
modules of the standard library take that they use.
"""

import statistics
import subprocess
import sys
import time

LIMIT_MS = 50
TIMES = 20
NOTHING = "pass"
STANDARD = "import dataclasses, inspect, json, logging, threading, typing"
IMPORTS = ["import ridethrough", "from ridethrough import Client", "from ridethrough import SyncClient"]


def main() -> None:
    taken: dict[str, list[float]] = {code: [] for code in [NOTHING, STANDARD, *IMPORTS]}
    # They take turns, so that a busy machine is busy for all of them. The first turn fills the caches.
    for _ in range(TIMES + 1):
        for code, times in taken.items():
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            times.append((time.perf_counter() - began) * 1000)
    nothing = taken.pop(NOTHING)[1:]
    best = {code: min(times[1:]) - min(nothing) for code, times in taken.items()}
    for code, times in taken.items():
        median = statistics.median(times[1:]) - statistics.median(nothing)
        print(f"{code}: {best[code]:.1f} ms at best, {median:.1f} ms in the median of {TIMES}")
    package, *clients = IMPORTS
    if best[package] >= LIMIT_MS:
        sys.exit(f"`{package}` takes more than {LIMIT_MS} ms")
    limit = max(LIMIT_MS, 2 * best[STANDARD])
    if any(best[code] >= limit for code in clients):
        sys.exit(f"the first use of a client takes more than {limit:.0f} ms")


if __name__ == "__main__":
    main()
