import { main } from './main.ts';

export { main } from './main.ts';
export { startEcho } from './server.ts';
export type { Echo, EchoOptions } from './server.ts';

if (import.meta.main) void main(process.argv.slice(2)).then((code) => (process.exitCode = code));
