/** Serves server-everything on a free port of loopback, and prints the URL. The argument is `http` or `sse`. */
import { startEverything } from '../../../src/mcp/everythingServer.testing.ts';
import { startEverythingSse } from '../../../src/mcp/everythingSse.testing.ts';

const { url } = await (process.argv[2] === 'sse' ? startEverythingSse() : startEverything());
console.log(url);
