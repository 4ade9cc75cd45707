"""Frameworks over ridethrough, each by the lines that `docs/start/in-your-agent.md` shows. Those not installed are skipped.

The server loses the session in the middle of each.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import run_asyncio
from fault_server import FaultServer, lose_session

pytest.importorskip("mcp")

import ridethrough.mcp

PAGE = Path(__file__).parents[2] / "docs/start/in-your-agent.md"


@pytest.fixture(autouse=True)
def not_installed() -> Iterator[None]:
    """The lines of some frameworks install our transport; others must not find it."""
    yield
    ridethrough.mcp.uninstall()


def test_every_framework_of_the_page_has_a_test() -> None:
    sections = PAGE.read_text().split("\n## ")[1:]
    named = [section.partition("\n")[0] for section in sections if "```python" in section]
    tested = re.findall(r'await shown\("(.+?)"', Path(__file__).read_text())
    assert sorted(named) == sorted(tested)


def test_fastmcp(server: FaultServer) -> None:
    pytest.importorskip("fastmcp")
    server.faults.append(lose_session)

    async def main() -> None:
        await shown("FastMCP", server)
        assert (server.ran, server.requests.count("initialize")) == (["echo"], 2)

    run_asyncio(main)


def test_langchain(server: FaultServer) -> None:
    pytest.importorskip("langchain_mcp_adapters")

    async def main() -> None:
        names = await shown("langchain-mcp-adapters", server)
        tools = {tool.name: tool for tool in names["tools"]}
        server.faults.append(lose_session)
        # It reads what a tool takes from the schema, and this server's says nothing.
        assert "echo" in str(await tools["echo"].ainvoke({}))
        assert server.ran == ["echo"]
        assert server.requests.count("initialize") == 3

    run_asyncio(main)


def test_openai_agents(server: FaultServer) -> None:
    pytest.importorskip("agents.mcp")
    server.faults.append(lose_session)

    async def main() -> None:
        await shown("OpenAI Agents", server)
        assert (server.ran, server.requests.count("initialize")) == (["echo"], 2)

    run_asyncio(main)


def test_openai_agents_keeps_its_headers(server: FaultServer) -> None:
    agents: Any = pytest.importorskip("agents.mcp")
    ridethrough.mcp.install()

    async def main() -> None:
        params = {"url": server.url, "headers": {"x-team": "blue"}}
        async with agents.MCPServerStreamableHttp(params, client_session_timeout_seconds=60) as opened:
            await opened.call_tool("echo", {"text": "after"})
        assert all(sent["x-team"] == "blue" for sent in server.headers)

    run_asyncio(main)


def test_pydantic_ai(server: FaultServer) -> None:
    pytest.importorskip("pydantic_ai.mcp")

    async def main() -> None:
        toolset = (await shown("pydantic-ai", server))["toolset"]
        async with toolset:
            server.faults.append(lose_session)
            assert "after" in str(await toolset.direct_call_tool("echo", {"text": "after"}))
        assert server.ran == ["echo"]

    run_asyncio(main)


def test_google_adk(server: FaultServer) -> None:
    pytest.importorskip("google.adk")

    async def main() -> None:
        toolset = (await shown("Google ADK", server))["toolset"]
        assert "echo" in [tool.name for tool in await toolset.get_tools()]
        server.lose_sessions()
        assert "echo" in [tool.name for tool in await toolset.get_tools()]
        await toolset.close()

    run_asyncio(main)


def test_hermes_agent(server: FaultServer) -> None:
    hermes: Any = pytest.importorskip("tools.mcp_tool")

    async def main() -> None:
        await shown("hermes-agent", server)
        task = hermes.MCPServerTask("it")
        running = asyncio.create_task(task.run({"url": server.url}))
        await task._ready.wait()
        session = task.session
        server.faults.append(lose_session)
        result = await session.call_tool("echo", {"text": "after"})
        # Nothing above the transport was made anew.
        assert task.session is session and not running.done()
        assert result.content[0].text == "after"
        assert server.ran == ["echo"]
        await task.shutdown()
        await running

    run_asyncio(main)


def test_strands(server: FaultServer) -> None:
    pytest.importorskip("strands")

    async def main() -> None:
        client = (await shown("Strands", server))["client"]

        def use() -> Any:
            with client:
                server.faults.append(lose_session)
                return client.call_tool_sync("1", "echo", {"text": "after"})

        result = await asyncio.to_thread(use)
        assert result["content"][0]["text"] == "after"
        assert server.ran == ["echo"]

    run_asyncio(main)


async def shown(framework: str, server: FaultServer) -> dict[str, Any]:
    """Runs the lines that the page shows for a framework, and returns the names that they define."""
    part = PAGE.read_text().partition(f"\n## {framework}\n")[2].partition("\n## ")[0]
    block = re.search(r"^```python\n(.*?)^```", part, re.MULTILINE | re.DOTALL)
    assert block is not None, f"the page shows nothing for {framework}"
    code = compile(
        block[1].replace("https://example.com/mcp", server.url),
        str(PAGE),
        "exec",
        flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT,
    )
    names: dict[str, Any] = {}
    waiting = eval(code, names)
    if inspect.isawaitable(waiting):
        await waiting
    return names
