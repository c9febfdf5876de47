"""Takes the steps of the clients' suite with the client of the Python package `fastmcp`.

usage: fastmcp_client.py   (the endpoint and the items as JSON in the variable WANTED)
"""

import asyncio
import json
import os

from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport

wanted = json.loads(os.environ["WANTED"])


async def main() -> dict:
    headers = {"Authorization": f"Bearer {wanted['token']}"}
    async with Client(StreamableHttpTransport(wanted["url"], headers=headers), mode=wanted["mode"]) as client:
        tools = await client.list_tools()
        called = await client.call_tool(wanted["tool"], {"message": wanted["message"]})
        read = await client.read_resource(wanted["resource"])
        got = await client.get_prompt(wanted["prompt"])
        return {
            "tools": [tool.name for tool in tools],
            "call": called.content[0].text,
            "resource": read[0].text,
            "prompt": got.messages[0].content.text,
        }


print(json.dumps(asyncio.run(main())))
