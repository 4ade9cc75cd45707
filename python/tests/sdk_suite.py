"""Runs the SDK's own tests over ridethrough's transport.

    python tests/sdk_suite.py FOLDER [TEST ...]

The tests come with the source distribution of `mcp`, which pip brings into FOLDER; nothing of it is kept in
this repository.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

VERSION = "2.3.0"
TESTS = ["tests/interaction"]
NEEDED = ["blockbuster", "coverage[toml]", "dirty-equals", "inline-snapshot", "logfire", "pytest-timeout"]


def main() -> int:
    folder, chosen = Path(sys.argv[1]), sys.argv[2:] or TESTS
    source = folder / f"mcp-{VERSION}"
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
    if not source.exists():
        folder.mkdir(parents=True, exist_ok=True)
        brought = subprocess.run([*pip, "install", *NEEDED]).returncode == 0 and (
            subprocess.run(
                [*pip, "download", "--no-deps", "--no-binary", ":all:", "-d", str(folder), f"mcp=={VERSION}"]
            ).returncode
            == 0
        )
        if not brought:
            print("the SDK's own tests are skipped: pip did not bring them")
            return 0
        with tarfile.open(folder / f"mcp-{VERSION}.tar.gz") as archive:
            archive.extractall(folder, filter="data")
    here = Path(__file__).parent
    # Its own options name plugins that are not needed here.
    options = ["-q", "--timeout", "30", "-o", "addopts=-p anyio", "-o", "log_cli=false", "--tb=short"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "swapped_transport", *options, *chosen],
        cwd=source,
        env={**os.environ, "PYTHONPATH": str(here)},
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
