"""The kinds of items that the native module hands over. Their numbers must be those in `src/queue.rs`."""

from typing import Final

RESULT: Final = 0
SERVER_ERROR: Final = 1
FAILURE: Final = 2
PROGRESS: Final = 3
NOTIFICATION: Final = 4
QUESTION: Final = 5
WITHDRAWN: Final = 6
EVENT: Final = 7
MESSAGE: Final = 8
HTTP_REQUEST: Final = 9
HTTP_ABORT: Final = 10
TOKEN: Final = 11
OVER: Final = 12
