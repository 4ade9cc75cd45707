"""Fails unless `import ridethrough` takes less than 50 ms, and the first use of its clients too.

That is the time of a new interpreter, less that of one that imports nothing. The best of 20 counts, because a busy
machine only adds to it; the median is printed beside it.
"""

import statistics
import subprocess
import sys
import time

LIMIT_MS = 50
TIMES = 20
NOTHING = "pass"
IMPORTS = ["import ridethrough", "from ridethrough import Client", "from ridethrough import SyncClient"]


def main() -> None:
    taken: dict[str, list[float]] = {code: [] for code in [NOTHING, *IMPORTS]}
    # They take turns, so that a busy machine is busy for all of them. The first turn fills the caches.
    for _ in range(TIMES + 1):
        for code, times in taken.items():
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            times.append((time.perf_counter() - began) * 1000)
    nothing = taken.pop(NOTHING)[1:]
    failed = False
    for code, times in taken.items():
        best = min(times[1:]) - min(nothing)
        median = statistics.median(times[1:]) - statistics.median(nothing)
        print(f"{code}: {best:.1f} ms at best, {median:.1f} ms in the median of {TIMES}")
        failed |= best >= LIMIT_MS
    if failed:
        sys.exit(f"an import takes more than {LIMIT_MS} ms")


if __name__ == "__main__":
    main()
