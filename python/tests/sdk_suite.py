"""Runs the SDK's own tests over ridethrough's transport.

    python tests/sdk_suite.py FOLDER [--sample | TEST ...]

The tests come with the source distribution of the `mcp` that is installed, which pip brings into FOLDER; nothing of
it is kept in this repository. `RIDETHROUGH_UNLISTED=yes` runs those too that `sdk1_exceptions.txt` or
`sdk2_exceptions.txt` lists. Those of 2.x give the transport an HTTP client that reaches the server in memory; those
of 1.x start a server on a socket, and ridethrough speaks HTTP itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path

VERSION = version("mcp")
TESTS = {
    "1": [
        "tests/shared/test_streamable_http.py",
        "tests/client/test_http_unicode.py",
        "tests/client/test_notification_response.py",
        "tests/client/test_session_group.py",
        "tests/server/fastmcp/test_integration.py",
    ],
    "2": [
        "tests/interaction",
        "tests/shared/test_streamable_http.py",
        "tests/client/test_http_unicode.py",
        "tests/client/test_transport_stream_cleanup.py",
        # Not `test_notification_response.py`: 6 of its 8 tests want the SDK's exact error for a refusal that the link
        # repeats, waits for or reports with its facts. Not `test_streamable_http.py`: it calls methods of
        # `StreamableHTTPTransport`, counts its POSTs, or wants its exact error for what the link recovers from.
    ],
}[VERSION[0]]
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
    # Warnings of newer versions of what it needs are errors there.
    options = ["-q", "-W", "default", "--disable-warnings", "--timeout", "120", "-o", "addopts=-p anyio", "-o", "log_cli=false", "--tb=short"]
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
