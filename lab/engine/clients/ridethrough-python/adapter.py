"""`ridethrough.Client`, the client for Python, as an adapter of the lab. Everything is as it is by default."""

import tempfile
from types import SimpleNamespace

from player import main, words
from ridethrough import Client, OAuth, RidethroughError


class Adapter:
    logins = None

    def __init__(self, url, bearer, login, hear):
        self.hear = hear
        oauth = None if login is None else self.login(login["within_s"])
        self.client = Client(url, token=bearer, oauth=oauth, on_notification=self.heard)

    def login(self, within_s):
        # The logins of the person at this machine are left alone; the clients of one script share theirs.
        Adapter.logins = Adapter.logins or tempfile.TemporaryDirectory()
        return OAuth(name="ridethrough lab", folder=Adapter.logins.name, login_within=within_s, asks_person=True)

    async def __aenter__(self):
        try:
            return dict((await self.client.connect()).raw)
        except RidethroughError as error:
            # The client stays: its next call tries again by itself.
            return error

    async def __aexit__(self, *error):
        await self.client.aclose()

    def heard(self, notification):
        self.hear(words(notification.method, SimpleNamespace(**notification.params)))

    async def call(self, tool, args, timeout):
        result = await self.client.call_tool(tool, args, timeout=timeout)
        return result.text, result.is_error

    async def request(self, method, params, timeout):
        return await self.client.request(method, params, timeout=timeout)


main(Adapter)
