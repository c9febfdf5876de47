"""Logs in with the Python SDK's client, as a user who allows every client, and prints the answer of the tool echo.

usage: login.py URL …   (a client of its own for each; one line for each)
"""

import asyncio
import re
import sys
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx2
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import OAuthClientMetadata

redirect = "http://127.0.0.1:33419/callback"
returned: dict[str, list[str]] = {}


class Memory:
    tokens = None
    client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


async def browse(start: str) -> None:
    """Follows redirects, and allows the client on the consent page, until the client is asked."""
    async with httpx2.AsyncClient() as browser:
        place, form = start, None
        for _ in range(12):
            if place.startswith(redirect):
                returned.clear()
                returned.update(parse_qs(urlsplit(place).query))
                return
            answer = await (browser.post(place, data=form) if form else browser.get(place))
            form = None
            consent = re.search(r'name="request" value="([^"]*)"', answer.text)
            if "location" in answer.headers:
                place = urljoin(place, answer.headers["location"])
            elif consent:
                form = {"request": consent[1], "decision": "allow"}
            else:
                raise RuntimeError(f"stuck at {place}: {answer.status_code} {answer.text[:300]}")
    raise RuntimeError("too many redirects")


async def callback() -> AuthorizationCodeResult:
    code, state, issuer = (returned.get(name, [None])[0] for name in ("code", "state", "iss"))
    return AuthorizationCodeResult(code=code, state=state, iss=issuer)


async def log_in(url: str) -> None:
    provider = OAuthClientProvider(
        server_url=url,
        client_metadata=OAuthClientMetadata(
            client_name="e2e",
            redirect_uris=[redirect],
            grant_types=["authorization_code", "refresh_token"],
            response_types=["code"],
            token_endpoint_auth_method="none",
        ),
        storage=Memory(),
        redirect_handler=browse,
        callback_handler=callback,
    )
    async with create_mcp_http_client(auth=provider) as http:
        async with Client(streamable_http_client(url, http_client=http), mode="legacy") as client:
            result = await client.call_tool("echo", {"text": "from Python"})
            print(url, "".join(part.text for part in result.content if part.type == "text"))


async def main() -> None:
    for url in sys.argv[1:]:
        await log_in(url)


asyncio.run(main())
