/** Serves server-everything over Streamable HTTP on a free port of loopback, and prints the URL. */
import { startEverything } from '../../../src/mcp/everythingServer.testing.ts';

const { url } = await startEverything();
console.log(url);
