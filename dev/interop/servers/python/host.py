"""A host on the Python SDK: it starts a stdio server by the SDK's own client and does what the lines of
its stdin ask for. See ../README.md; the answers to what a server asks are the same in every host."""

import json
import os
import sys
import warnings
from functools import partial
from typing import Any

import anyio
import anyio.abc
import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

warnings.simplefilter("ignore")

# Which revision the host speaks: one with sessions, or the one without.
IS_STATELESS = os.environ.get("INTEROP_HOST_ERA") == "Modern"
FORM = {"name": "Ada", "age": 36, "keen": True}


def say(**line: Any) -> None:
    print(json.dumps(line), flush=True)


async def form(_: Any, __: types.ElicitRequestParams) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content=FORM)


async def roots(_: Any) -> types.ListRootsResult:
    return types.ListRootsResult(roots=[types.Root(uri="file:///interop/root", name="a folder")])


async def sampling(_: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
    content = params.messages[0].content
    prompt = content[0] if isinstance(content, list) else content
    text = types.TextContent(type="text", text=f"a message about: {prompt.text}")
    return types.CreateMessageResult(role="assistant", content=text, model="none")


async def heard(message: Any) -> None:
    # The SDK gives progress to whoever called, and here as well.
    if not isinstance(message, Exception) and message.method != "notifications/progress":
        params = message.params and message.params.model_dump(by_alias=True, mode="json", exclude_none=True)
        say(told=message.method, params=params)


class Host:
    def __init__(self, client: Client, group: anyio.abc.TaskGroup) -> None:
        self.client = client
        self.group = group
        # What each request says of itself.
        self.meta: dict[str, Any] | None = None
        self.running: dict[int, anyio.CancelScope] = {}

    async def serve(self, line: dict[str, Any]) -> None:
        number = line.pop("id")
        with anyio.CancelScope() as self.running[number]:
            try:
                say(id=number, result=await getattr(self, line.pop("do"))(number, **line))
            except MCPError as error:
                say(id=number, error={"message": error.error.message, "data": error.error.data})
            except Exception as error:
                say(id=number, error={"message": f"{type(error).__name__}: {error}"})
        if self.running.pop(number).cancelled_caught:
            say(id=number, error={"message": "cancelled"})

    async def call(self, number: int, tool: str, arguments: dict[str, Any]) -> Any:
        async def progress(done: float, total: float | None, _: str | None) -> None:
            say(told="progress", params={"of": number, "progress": done, "total": total})

        result = await self.client.call_tool(tool, arguments, progress_callback=progress, meta=self.meta)
        return {"text": result.content[0].text, "isError": bool(result.is_error)}

    async def cancel(self, _: int, of: int) -> Any:
        self.running[of].cancel()

    async def level(self, _: int, level: Any) -> Any:
        if IS_STATELESS:
            self.meta = {"io.modelcontextprotocol/logLevel": level}
        else:
            await self.client.set_logging_level(level)

    async def listen(self, *, task_status: anyio.abc.TaskStatus[None], **wanted: Any) -> None:
        async with self.client.listen(**wanted) as subscription:
            task_status.started()
            # The SDK hands what is told there to the message handler, too.
            async for _ in subscription:
                pass

    async def list(self, _: int, what: str) -> Any:
        ask, member, name = {
            "prompts": (self.client.list_prompts, "prompts", "name"),
            "resources": (self.client.list_resources, "resources", "uri"),
            "tools": (self.client.list_tools, "tools", "name"),
        }[what]
        names: list[str] = []
        page = await ask()
        names += [str(getattr(item, name)) for item in getattr(page, member)]
        while page.next_cursor:
            page = await ask(cursor=page.next_cursor)
            names += [str(getattr(item, name)) for item in getattr(page, member)]
        return names

    async def prompt(self, _: int, name: str, arguments: dict[str, str]) -> Any:
        return (await self.client.get_prompt(name, arguments)).messages[0].content.text

    async def read(self, _: int, uri: str) -> Any:
        return (await self.client.read_resource(uri)).contents[0].text

    async def subscribe(self, _: int, uri: str) -> Any:
        if IS_STATELESS:
            await self.group.start(partial(self.listen, resource_subscriptions=[uri]))
        else:
            await self.client.subscribe_resource(uri)


async def main() -> None:
    command, *arguments = sys.argv[1:]
    client = Client(
        StdioServerParameters(command=command, args=arguments),
        elicitation_callback=form,
        list_roots_callback=roots,
        message_handler=heard,
        mode="auto" if IS_STATELESS else "legacy",
        sampling_callback=sampling,
    )
    async with client, anyio.create_task_group() as group:
        host = Host(client, group)
        if IS_STATELESS:
            # It would fall back to a session without a word.
            assert client.protocol_version == "2026-07-28", client.protocol_version
            await group.start(partial(host.listen, tools_list_changed=True))
        say(id=0, result={"server": client.server_info.name})
        async for line in anyio.wrap_file(sys.stdin):
            group.start_soon(host.serve, json.loads(line))
        group.cancel_scope.cancel()


anyio.run(main)
