"""Goes through what an MCP server offers with the Python SDK's client and prints what it saw as one JSON object.

usage: client.py URL legacy|auto   (the bearer token in the variable TOKEN)
"""

import asyncio
import json
import os
import sys

import anyio
import mcp_types as types
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

url, mode = sys.argv[1:]
updates: list[str] = []


async def sample(context, params):
    return types.CreateMessageResult(
        model="test-model", role="assistant", content=types.TextContent(type="text", text="a sampled answer")
    )


async def elicit(context, params):
    return types.ElicitResult(action="accept", content={"name": "Ada Lovelace"})


async def roots(context):
    return types.ListRootsResult(roots=[types.Root(uri="file:///srv/first", name="first")])


async def receive(message):
    if isinstance(message, types.ResourceUpdatedNotification):
        updates.append(str(message.params.uri))


def text(result) -> str:
    return "\n".join(part.text for part in result.content if part.type == "text")


async def main() -> dict:
    headers = {"Authorization": f"Bearer {os.environ['TOKEN']}"}
    async with create_mcp_http_client(headers=headers) as http:
        async with Client(
            streamable_http_client(url, http_client=http),
            mode=mode,
            sampling_callback=sample,
            elicitation_callback=elicit,
            list_roots_callback=roots,
            message_handler=receive,
        ) as client:
            seen = {}
            tools = await client.list_tools()
            seen["tools"] = [tool.name for tool in tools.tools]
            seen["echo"] = text(await client.call_tool("echo", {"message": "from Python"}))
            structured = await client.call_tool("get-structured-content", {"location": "Chicago"})
            seen["structured"] = structured.structured_content

            progress = []

            async def note(done, total, message):
                progress.append([done, total])

            await client.call_tool(
                "trigger-long-running-operation", {"duration": 0.2, "steps": 4}, progress_callback=note
            )
            seen["progress"] = progress

            prompt = await client.get_prompt("args-prompt", {"city": "Turin"})
            seen["prompt"] = prompt.messages[0].content.text
            listed = await client.list_resources()
            seen["resources"] = [resource.name for resource in listed.resources]
            read = await client.read_resource("demo://resource/dynamic/text/7")
            seen["resource"] = read.contents[0].text
            completed = await client.complete(
                types.PromptReference(type="ref/prompt", name="completable-prompt"),
                {"name": "department", "value": "E"},
            )
            seen["completion"] = completed.completion.values

            seen["sampling"] = text(await client.call_tool("trigger-sampling-request", {"prompt": "say"}))
            seen["elicitation"] = text(await client.call_tool("trigger-elicitation-request", {}))
            seen["roots"] = text(await client.call_tool("get-roots-list", {}))

            subscribed = "demo://resource/dynamic/text/1"
            with anyio.fail_after(20):
                if client.protocol_version >= "2026-07-28":
                    async with client.listen(resource_subscriptions=[subscribed]) as news:
                        await client.call_tool("toggle-subscriber-updates", {})
                        async for event in news:
                            updates.append(str(event.uri))
                            break
                else:
                    await client.session.subscribe_resource(subscribed)
                    await client.call_tool("toggle-subscriber-updates", {})
                    while not updates:
                        await anyio.sleep(0.01)
            seen["updates"] = updates[:1]
            seen["revision"] = client.protocol_version
            return seen


print(json.dumps(asyncio.run(main())))
