// @ts-check
// Loaded into every process of `npm test`. Programs that the tests start, such as MCP servers, share the compile cache:
// tests start thousands of processes, and most of the time of a start goes into compilation.
import { fileURLToPath } from 'node:url';
import '../bin/compileCache.js';

process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../.cache/compile', import.meta.url));
