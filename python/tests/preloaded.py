"""Starts an adapter of the lab without the seconds that its imports take.

    python tests/preloaded.py serve SOCKET ADAPTER      imports everything, and forks a process for each start
    python -S tests/preloaded.py SOCKET URL SCRIPT      asks for one, and ends as it does

The lab starts a process for each scenario, and frameworks take seconds to import. A forked process has nothing of
the others: no connection, thread or event loop exists before the fork.
"""

from __future__ import annotations

import os
import socket
import sys


def ask(path: str, arguments: list[str]) -> int:
    """Has a process started with the stdout and stderr of this one, and returns its exit code."""
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(path)
        said = "\0".join([os.environ.get("BROWSER", ""), *arguments]).encode()
        socket.send_fds(server, [said], [1, 2])
        # The end without a code is that of a process that was killed.
        return (server.recv(1) or b"\x01")[0]


def serve(path: str, adapter: str) -> None:
    """Imports an adapter, and forks a process that plays for each that asks."""
    import runpy
    import signal
    import threading

    import player  # type: ignore[import-not-found]

    made = []
    play, player.main = player.main, made.append
    runpy.run_path(adapter, run_name="adapter")
    for name in ("httpx", "httpx2"):
        if name in sys.modules:
            # The first client of a process reads certificates and imports the rest.
            sys.modules[name].AsyncClient()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    print("ready", flush=True)
    while True:
        asking, _ = listener.accept()
        if os.fork() != 0:
            asking.close()
            continue
        listener.close()
        said, outputs, _, _ = socket.recv_fds(asking, 65536, 2)
        for number, output in enumerate(outputs, 1):
            os.dup2(output, number)
            os.close(output)
        browser, *arguments = said.decode().split("\0")
        os.environ["BROWSER"] = browser
        sys.argv = [adapter, *arguments]
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        # The lab stops a client by ending the process that it has started.
        threading.Thread(target=lambda: (asking.recv(1), os._exit(1)), daemon=True).start()
        code = 1
        try:
            play(made[0])
            code = 0
        except Exception:
            sys.excepthook(*sys.exc_info())
        sys.stdout.flush()
        asking.send(bytes([code]))
        os._exit(code)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(*sys.argv[2:4])
    else:
        sys.exit(ask(sys.argv[1], sys.argv[2:]))
