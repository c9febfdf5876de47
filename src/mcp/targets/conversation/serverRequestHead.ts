import type { HeaderLine } from '../../../http/index.ts';
import { authorityOf } from '../../../upstream/index.ts';
import type { Reach } from '../../contract.ts';

/** A session with a server; the next one is another object. */
export interface ServerSession {
  /** As the server named it; undefined where it keeps none. */
  id: string | undefined;
  /** The revision that was agreed on; undefined before. */
  version: string | undefined;
}

/** Fields that say what a message of ours is: no policy has a say in them. */
const own: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'last-event-id',
  'mcp-method',
  'mcp-name',
  'mcp-protocol-version',
  'mcp-session-id',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

const noBody = Buffer.alloc(0);

/**
 * The head of one request; nothing of the client's own is in it.
 * @param more stands behind what every request has, and in place of lines of policies
 * @param body for a signature
 */
export function requestHead(
  method: 'POST' | 'GET' | 'DELETE',
  reach: Reach,
  session: ServerSession,
  more: readonly HeaderLine[],
  body: Buffer = noBody,
): string {
  const given = new Set(more.map(([name]) => name));
  const policies = reach.headers.filter(([name]) => !own.has(name) && !given.has(name));
  const lines: HeaderLine[] = [
    ['host', reach.authority ?? authorityOf(reach.destination.target)],
    ...(policies.some(([name]) => name === 'user-agent') ? [] : [['user-agent', 'portcullis'] as const]),
    ...(session.id === undefined ? [] : [['mcp-session-id', session.id] as const]),
    ...(session.version === undefined ? [] : [['mcp-protocol-version', session.version] as const]),
    ...more,
    ...policies,
  ];
  const head = `${method} ${reach.path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
  return reach.signer === undefined ? head : reach.signer.sign(head, body);
}
