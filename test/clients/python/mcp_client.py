"""Takes the steps of the clients' suite with the client of the Python package `mcp`.

usage: mcp_client.py   (the endpoint and the items as JSON in the variable WANTED)
"""

import asyncio
import json
import os

from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

wanted = json.loads(os.environ["WANTED"])


async def main() -> dict:
    headers = {"Authorization": f"Bearer {wanted['token']}"}
    async with create_mcp_http_client(headers=headers) as http:
        async with Client(streamable_http_client(wanted["url"], http_client=http), mode=wanted["mode"]) as client:
            tools = await client.list_tools()
            called = await client.call_tool(wanted["tool"], {"message": wanted["message"]})
            read = await client.read_resource(wanted["resource"])
            got = await client.get_prompt(wanted["prompt"])
            return {
                "tools": [tool.name for tool in tools.tools],
                "call": called.content[0].text,
                "resource": read.contents[0].text,
                "prompt": got.messages[0].content.text,
            }


print(json.dumps(asyncio.run(main())))
