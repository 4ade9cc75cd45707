"""The login of the Python SDK: its `OAuthClientProvider`, with a store in memory.

The SDK finds the authorization server, registers, refreshes, compares `state` and `iss`, and decides when the
person is needed; this file opens the browser and waits for it to come back.
"""

import asyncio
import os
from urllib.parse import parse_qs, urlsplit

from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.shared.auth import OAuthClientMetadata


class Login:
    """One for all clients of a script: a second client finds the login of the first."""

    def __init__(self):
        self.tokens = self.client_info = self.port = None
        self.came = asyncio.Queue()

    async def provider(self, url, within_s):
        if self.port is None:
            server = await asyncio.start_server(self.browser, "127.0.0.1", 0)
            self.port = server.sockets[0].getsockname()[1]
        metadata = OAuthClientMetadata(
            client_name="lab-client-python",
            redirect_uris=[f"http://127.0.0.1:{self.port}/callback"],
            grant_types=["authorization_code", "refresh_token"],
            response_types=["code"],
            token_endpoint_auth_method="none",
        )

        async def callback():
            async with asyncio.timeout(within_s):
                said = await self.came.get()
            # Without a code the person has declined, and the SDK has no word for that.
            if "error" in said:
                raise RuntimeError(f"the login failed: {said['error']}")
            return AuthorizationCodeResult(code=said["code"], state=said.get("state"), iss=said.get("iss"))

        return OAuthClientProvider(url, metadata, self, redirect_handler=self.open, callback_handler=callback)

    async def open(self, url):
        await asyncio.create_subprocess_exec(os.environ["BROWSER"], url)

    async def browser(self, reader, writer):
        target = (await reader.readline()).split()[1].decode()
        said = parse_qs(urlsplit(target).query)
        writer.write(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 4\r\n\r\ndone")
        await writer.drain()
        writer.close()
        await self.came.put({name: values[0] for name, values in said.items()})

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client_info

    async def set_client_info(self, client_info):
        self.client_info = client_info
