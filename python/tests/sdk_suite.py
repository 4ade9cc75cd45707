"""Runs the SDK's own tests over ridethrough's transport.

    python tests/sdk_suite.py FOLDER [--sample | TEST ...]

The tests come with the source distribution of `mcp`, which pip brings into FOLDER; nothing of it is kept in
this repository. `RIDETHROUGH_UNLISTED=yes` runs those too that `sdk_exceptions.txt` lists.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

VERSION = "2.3.0"
TESTS = [
    "tests/interaction",
    "tests/shared/test_streamable_http.py",
    "tests/client/test_http_unicode.py",
    "tests/client/test_transport_stream_cleanup.py",
]
# Each kind of message in both directions, what is recovered, and resuming.
SAMPLE = [
    *(f"tests/interaction/lowlevel/test_{name}.py" for name in ("cancellation", "elicitation", "roots")),
    *(f"tests/interaction/lowlevel/test_{name}.py" for name in ("sampling", "tools")),
    *(f"tests/interaction/transports/test_{name}.py" for name in ("client_transport_http", "hosting_resume")),
]


def main() -> int:
    folder, chosen = Path(sys.argv[1]), sys.argv[2:] or TESTS
    if chosen == ["--sample"]:
        chosen = SAMPLE
    source = folder / f"mcp-{VERSION}"
    if not source.exists() and not bring(folder):
        print("the SDK's own tests are skipped: pip did not bring them")
        return 0
    here = str(Path(__file__).parent)
    path = os.pathsep.join([here, os.environ["PYTHONPATH"]])
    # Its own options name plugins that are not needed here.
    options = ["-q", "--timeout", "30", "-o", "addopts=-p anyio", "-o", "log_cli=false", "--tb=short"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "swapped_transport", *options, *chosen],
        cwd=source,
        env={**os.environ, "PYTHONPATH": path},
    ).returncode


def bring(folder: Path) -> bool:
    """Brings the source distribution; returns whether it came."""
    folder.mkdir(parents=True, exist_ok=True)
    pip = [sys.executable, "-m", "pip", "-q", "download", "--no-deps"]
    what = ["--no-binary", ":all:", "-d", str(folder), f"mcp=={VERSION}"]
    if subprocess.run([*pip, *what]).returncode != 0:
        return False
    with tarfile.open(folder / f"mcp-{VERSION}.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return True


if __name__ == "__main__":
    sys.exit(main())
