"""The frameworks, the ways in which an answer is lost, and what a model does about it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
REQUIREMENTS = HERE.parents[2] / "python/requirements"


@dataclass(frozen=True)
class Framework:
    """A framework, and the driver that connects it as its users do."""

    name: str
    environment: str
    """Its installation: a list of `python/requirements`, or a folder of `drivers` with a `package.json`."""
    package: str
    """The package whose version the table shows."""
    driver: str
    arguments: tuple[str, ...] = ()
    repeats_alone: bool = False
    """Whether its own retries repeat a write whose answer is lost, when nothing of ours is there."""
    is_new_each_call: bool = False
    """Whether it opens a session, and so starts a server that is a program, for each call."""
    is_verbatim: bool = False
    """Whether it adds no sentence of its own to ours."""
    is_sampled: bool = False
    """Whether a run without `--all` has it."""

    @property
    def is_python(self) -> bool:
        return self.driver.endswith(".py")

    @property
    def version(self) -> str:
        """The version that its pins name."""
        if not self.is_python:
            manifest = json.loads((HERE / "drivers" / self.environment / "package.json").read_text())
            return str(manifest["dependencies"][self.package])
        lines = (REQUIREMENTS / f"{self.environment}.txt").read_text().split()
        pinned = [line for line in lines if line.partition("==")[0].partition("[")[0] == self.package]
        return pinned[0].partition("==")[2]


def openai_agents(retries: int, is_sampled: bool = False) -> Framework:
    name = f"OpenAI Agents, `max_retry_attempts` {retries}"
    return Framework(
        name,
        "agents",
        "openai-agents",
        "openai_agents.py",
        (str(retries),),
        repeats_alone=retries > 0,
        is_sampled=is_sampled,
    )


FRAMEWORKS = [
    openai_agents(0),
    openai_agents(1),
    openai_agents(3, is_sampled=True),
    Framework(
        "LangChain, `ToolRetryMiddleware`",
        "frameworks1",
        "langchain-mcp-adapters",
        "langchain_agent.py",
        ("2",),
        repeats_alone=True,
        is_new_each_call=True,
    ),
    Framework(
        "LangChain in a session, `ToolRetryMiddleware`",
        "frameworks1",
        "langchain-mcp-adapters",
        "langchain_agent.py",
        ("2", "session"),
    ),
    Framework("pydantic-ai", "frameworks2", "pydantic-ai-slim", "pydantic_ai_agent.py"),
    Framework("Google ADK", "frameworks2", "google-adk", "google_adk.py"),
    Framework("FastMCP", "frameworks2", "fastmcp-slim", "fastmcp_client.py", is_verbatim=True),
    Framework("TypeScript SDK 1", "typescript", "@modelcontextprotocol/sdk", "sdk1.mjs", is_verbatim=True),
    Framework("TypeScript SDK 2", "typescript", "@modelcontextprotocol/client", "sdk2.mjs", is_verbatim=True),
    Framework("AI SDK, `maxRetries` 2", "typescript", "@ai-sdk/mcp", "ai_sdk.mjs", ("2",), repeats_alone=True),
    Framework("OpenAI Agents for TypeScript", "typescript", "@openai/agents-core", "openai_agents.mjs"),
    Framework(
        "LangChain for TypeScript, `toolRetryMiddleware`",
        "typescript",
        "@langchain/mcp-adapters",
        "langchain.mjs",
        ("2",),
        repeats_alone=True,
    ),
    Framework("Mastra", "mastra", "@mastra/mcp", "mastra.mjs", repeats_alone=True, is_verbatim=True, is_sampled=True),
]

LOSSES = ["reset", "500", "503", "503-hint", "stream", "reset/stateless"]
"""How the answer of `pay` is lost over HTTP: those of `backend.py`, and one of a server without sessions."""

SAMPLED_LOSSES = ["reset", "stream"]

LOSSES_ALONE = ["reset", "500"]
"""Some frameworks wait for ever, if nothing of ours is there, for the answer of a stream that ended."""


@dataclass(frozen=True)
class Model:
    """What a scripted model calls, whatever it is shown."""

    name: str
    steps: tuple[str, ...]
    runs: int
    """How often `pay` must run behind a door of ours, if each of its answers is lost."""


ONCE = Model("calls once", ("pay", "look"), 1)
LOOKED = Model("looks, then calls again", ("pay", "look", "pay"), 2)
MODELS = [ONCE, Model("calls again at once", ("pay", "pay", "look"), 1), LOOKED]
