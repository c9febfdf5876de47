"""Logs in with the Python SDK's client, as a user who allows every client, and prints the answer of the tool echo.

usage: login.py URL …   (a client of its own for each; one line for each)
"""

import asyncio
import os
import re
import sys
from html import unescape
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


def value_of(tag: str, name: str) -> str | None:
    found = re.search(rf'\b{name}="([^"]*)"', tag)
    return unescape(found[1]) if found else None


def filled(page: str) -> dict[str, str]:
    """The fields of the form of a page, as the user fills them in."""
    own = {"username": os.environ.get("LOGIN_USER"), "password": os.environ.get("LOGIN_PASSWORD"), "decision": "allow"}
    tags = re.findall(r"<(?:input|button)\b[^>]*>", page)
    names = {name: value_of(tag, "value") or "" for tag in tags if (name := value_of(tag, "name")) and name != "cancel"}
    return {name: own.get(name) or value for name, value in names.items()}


async def browse(start: str) -> None:
    """Follows redirects, logs the user in, and allows the client on the consent page, until the client is asked."""
    async with httpx2.AsyncClient() as browser:
        place, form = start, None
        # By host, secure ones included: browsers send them on loopback, and the jar of the library does not.
        jars: dict[str, dict[str, str]] = {}
        for _ in range(20):
            if place.startswith(redirect):
                returned.clear()
                returned.update(parse_qs(urlsplit(place).query))
                return
            jar = jars.setdefault(urlsplit(place).netloc, {})
            headers = {"cookie": "; ".join(f"{name}={value}" for name, value in jar.items())}
            answer = await (
                browser.post(place, data=form, headers=headers) if form else browser.get(place, headers=headers)
            )
            for line in answer.headers.get_list("set-cookie"):
                name, _, value = line.split(";")[0].partition("=")
                jar[name] = value
            browser.cookies.clear()
            opening = re.search(r"<form\b[^>]*>", answer.text)
            form = None
            if "location" in answer.headers:
                place = urljoin(place, answer.headers["location"])
            elif opening:
                form = filled(answer.text)
                place = urljoin(place, value_of(opening[0], "action") or place)
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
