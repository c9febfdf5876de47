import type { ClientEra } from '../mcp/messages.ts';

/** The ways on which large results are measured. */

export interface LargeCase {
  readonly name: string;
  readonly title: string;
  /** The path of the route, which names the transport to the server. */
  readonly path: '/stdio' | '/json' | '/sse' | '/ruled' | '/federated';
  readonly tool: string;
  readonly text: 'plain' | 'records';
  readonly idLast: boolean;
  /** The client takes event streams only. */
  readonly events?: true;
  readonly era?: ClientEra;
}

const large = { tool: 'large', text: 'plain', idLast: false } as const;

export const cases: readonly LargeCase[] = [
  { ...large, name: 'stdio', title: 'stdio, `id` first', path: '/stdio' },
  { ...large, name: 'stdio-last', title: 'stdio, `id` last', path: '/stdio', idLast: true },
  { ...large, name: 'stdio-records', title: 'stdio, JSON in the text', path: '/stdio', text: 'records' },
  {
    ...large,
    name: 'stdio-events',
    title: 'stdio, the client takes events only',
    path: '/stdio',
    events: true,
  },
  { ...large, name: 'stdio-ruled', title: 'stdio, a rule that filters nothing', path: '/ruled' },
  { ...large, name: 'stdio-modern', title: 'stdio, a modern client', path: '/stdio', era: 'modern' },
  { ...large, name: 'http', title: 'HTTP, JSON, `id` first', path: '/json' },
  { ...large, name: 'http-last', title: 'HTTP, JSON, `id` last', path: '/json', idLast: true },
  { ...large, name: 'http-events', title: 'HTTP, event stream', path: '/sse' },
  {
    ...large,
    name: 'http-records',
    title: 'HTTP, event stream, `id` last, JSON in the text',
    path: '/sse',
    text: 'records',
    idLast: true,
  },
  { ...large, name: 'http-modern', title: 'HTTP, JSON, a modern client', path: '/json', era: 'modern' },
  {
    ...large,
    name: 'federated',
    title: 'one of two servers, whose URIs the gateway may change',
    path: '/federated',
    tool: 'first_large',
  },
];
