"""Logins by the library's own OAuth, with a browser that follows every link."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from authorization_server import AuthorizationServer
from conftest import run_asyncio
from fault_server import FaultServer

from ridethrough import Client, LoginFailed, OAuth, SyncClient, Unauthorized, login, logout


@pytest.fixture
def issuer(server: FaultServer) -> Iterator[AuthorizationServer]:
    made = AuthorizationServer(server)
    yield made
    made.stop()


@pytest.fixture
def oauth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OAuth:
    browser = tmp_path / "browser"
    browser.write_text(f"#!{sys.executable}\nimport sys, urllib.request\nurllib.request.urlopen(sys.argv[1])\n")
    os.chmod(browser, 0o700)
    monkeypatch.setenv("BROWSER", str(browser))
    return OAuth(name="a test", folder=str(tmp_path / "logins"), login_within=20)


def test_one_login_serves_every_client(
    server: FaultServer, issuer: AuthorizationServer, oauth: OAuth
) -> None:
    made = login(server.url, oauth)

    assert made.issuer == issuer.issuer and made.is_refreshable
    for _ in range(2):
        with SyncClient(server.url, oauth=oauth) as client:
            assert client.call_tool("echo", {"text": "hi"}).text == "hi"
    assert issuer.logins == 1


def test_without_a_login_a_call_says_so_and_no_browser_opens(
    server: FaultServer, issuer: AuthorizationServer, oauth: OAuth
) -> None:
    async def main() -> None:
        async with Client(server.url, oauth=oauth) as client:
            with pytest.raises(Unauthorized) as caught:
                await client.call_tool("write")
            assert not caught.value.may_have_run
            assert "log in" in caught.value.report

    run_asyncio(main)
    assert issuer.logins == 0 and server.ran == []


def test_a_program_with_a_person_logs_in_when_a_call_needs_it(
    server: FaultServer, issuer: AuthorizationServer, oauth: OAuth
) -> None:
    asking = OAuth(name="a test", folder=oauth.folder, login_within=20, asks_person=True)

    with SyncClient(server.url, oauth=asking) as client:
        assert client.call_tool("echo", {"text": "hi"}).text == "hi"

    assert issuer.logins == 1


def test_after_a_logout_nobody_is_logged_in(
    server: FaultServer, issuer: AuthorizationServer, oauth: OAuth
) -> None:
    login(server.url, oauth)

    logout(server.url, oauth)

    assert issuer.revoked
    with SyncClient(server.url, oauth=oauth) as client, pytest.raises(Unauthorized):
        client.call_tool("write")


def test_a_login_that_fails_says_why(
    server: FaultServer, issuer: AuthorizationServer, oauth: OAuth
) -> None:
    issuer.stop()

    with pytest.raises(LoginFailed) as caught:
        login(server.url, oauth)

    assert str(caught.value)


def test_a_secret_is_not_printed_and_one_source_of_tokens_is_enough() -> None:
    oauth = OAuth(client_id="c", client_secret="hidden")

    assert "hidden" not in repr(oauth)
    with pytest.raises(ValueError, match="one source of tokens"):
        SyncClient("http://127.0.0.1:9/mcp", token="t", oauth=oauth)
