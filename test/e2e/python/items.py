"""The same as fixtures/sdk1Items.ts on fastmcp."""

from fastmcp import FastMCP

server = FastMCP("fastmcp")


@server.resource("demo://resource/static/open", name="open")
def open_resource() -> str:
    return "OPEN"


@server.resource("demo://resource/dynamic/secret", name="secret")
def secret_resource() -> str:
    return "SECRET"


@server.resource("demo://resource/dynamic/{id}", name="dynamic")
def dynamic_resource(id: str) -> str:
    return "SECRET"


@server.resource("files:///{owner}/{name}", name="files")
def file_resource(owner: str, name: str) -> str:
    return "SECRET" if owner in ("private", "@hr") else "OPEN"


@server.tool(name="open")
def open_tool() -> str:
    return "OPEN"


@server.tool(name="secret")
def secret_tool() -> str:
    return "SECRET"


@server.prompt(name="open")
def open_prompt() -> str:
    return "OPEN"


@server.prompt(name="secret")
def secret_prompt() -> str:
    return "SECRET"


server.run(transport="stdio", show_banner=False)
