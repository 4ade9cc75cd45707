"""What `facts` finds in errors and results."""

from types import SimpleNamespace
from typing import Any

from ridethrough.mcp import Facts, facts

TOLD = {"kind": "interrupted", "mayHaveRun": True, "attempts": 2, "elapsedMs": 1500, "retryAfterMs": None}
READ = Facts("interrupted", True, 2, 1.5, None, "look")


class Raised(Exception):
    def __init__(self, code: int, data: Any) -> None:
        self.error = SimpleNamespace(code=code, message="look", data=data)


def test_a_result_that_tells_a_doubt_has_its_facts_and_its_words() -> None:
    meta = {"ridethrough/doubt": TOLD}
    content = [{"type": "text", "text": "look"}]

    assert facts({"content": content, "_meta": meta}) == READ
    assert facts(SimpleNamespace(content=[SimpleNamespace(text="look")], meta=meta)) == READ


def test_a_result_of_the_tool_has_none() -> None:
    denied = {"ridethrough/doubt": {**TOLD, "mayHaveRun": False}}

    for meta in (None, {}, {"ridethrough/lastKnown": {}}, denied):
        assert facts({"content": [], "_meta": meta}) is None


def test_an_error_of_a_front_has_facts_by_its_code_alone() -> None:
    assert facts(Raised(-32050, TOLD)) == READ
    assert facts(Raised(-32000, TOLD)) is None
    assert facts(Raised(-32050, {**TOLD, "mayHaveRun": False})) is None
