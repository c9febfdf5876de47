/**
 * The server that the MCP conformance suite talks to: `node fixture.ts` serves stdio, `node fixture.ts --http`
 * serves Streamable HTTP on a free loopback port and prints its URL on the first line of stdout.
 */
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { serveHttp } from './fixture/http.ts';
import { createFixture } from './fixture/server.ts';

if (process.argv.includes('--http')) {
  const { url } = await serveHttp();
  console.log(url);
} else {
  serveStdio(createFixture);
}
