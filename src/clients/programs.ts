/** Programs that list the tools of a server. */

/** The header of a credential that comes from a variable of the environment. */
export interface HeaderFrom {
  readonly name: string;
  readonly prefix: string;
  readonly variable: string;
}

export const typescriptClient = (url: string, header: HeaderFrom | undefined): string =>
  `import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const client = new Client({ name: 'example', version: '1.0.0' });
await client.connect(
  new StreamableHTTPClientTransport(new URL(${JSON.stringify(url)})${
    header === undefined
      ? ''
      : `, {\n    requestInit: { headers: { '${header.name}': \`${header.prefix}\${process.env.${header.variable}}\` } },\n  }`
  }),
);
console.log(await client.listTools());
await client.close();`;

export function pythonClient(url: string, header: HeaderFrom | undefined): string {
  const imports = header === undefined ? '' : '\nfrom mcp.shared._httpx_utils import create_mcp_http_client';
  const body = (lead: string, transport: string): string =>
    `${lead}async with Client(${transport}) as client:
${lead}    print(await client.list_tools())`;
  const main =
    header === undefined
      ? body('    ', `streamable_http_client(${JSON.stringify(url)})`)
      : `    headers = {"${header.name}": f"${header.prefix}{os.environ['${header.variable}']}"}
    async with create_mcp_http_client(headers=headers) as http:
${body('        ', `streamable_http_client(${JSON.stringify(url)}, http_client=http)`)}`;
  return `import asyncio${header === undefined ? '' : ', os'}
from mcp import Client
from mcp.client.streamable_http import streamable_http_client${imports}

async def main():
${main}

asyncio.run(main())`;
}
