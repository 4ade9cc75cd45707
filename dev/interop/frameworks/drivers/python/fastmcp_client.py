"""FastMCP: its client, which repeats nothing."""

from __future__ import annotations

from typing import Any

import driver
from fastmcp import Client
from fastmcp.client.transports import StdioTransport


def transport(order: driver.Order) -> Any:
    """FastMCP's transport to the server of an order, or ours."""
    if "command" in order:
        return StdioTransport(order["command"], order["args"], env=order["env"])
    if driver.IS_PACKAGE:
        from ridethrough.fastmcp import RideTransport

        return RideTransport(order["url"], doubt=order["doubt"])
    return order["url"]


async def play(order: driver.Order, script: driver.Script) -> None:
    async with Client(transport(order)) as client:

        async def call(tool: str, arguments: dict[str, str]) -> str:
            result = await client.call_tool(tool, arguments)
            return " ".join(block.text for block in result.content)

        await driver.play_calls(script, call)


if __name__ == "__main__":
    driver.main(play)
