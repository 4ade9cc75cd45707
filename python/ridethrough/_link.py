"""The native module, made safe for forks."""

import os

from ._native import Link, after_fork, log_in, log_out

# The child of a fork has none of the threads that its parent's clients run on.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=after_fork)

__all__ = ["Link", "log_in", "log_out"]
