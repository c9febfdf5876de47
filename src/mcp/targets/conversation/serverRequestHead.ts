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
const noLines: readonly HeaderLine[] = [];

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
  const policies = reach.headers.length === 0 ? noLines : ofPolicies(reach.headers, more);
  const head = `${beginningOf(method, reach, session, policies)}${textOf(more)}${textOf(policies)}\r\n`;
  return reach.signer === undefined ? head : reach.signer.sign(head, body);
}

function ofPolicies(headers: readonly HeaderLine[], more: readonly HeaderLine[]): readonly HeaderLine[] {
  const given = new Set(more.map(([name]) => name));
  return headers.filter(([name]) => !own.has(name) && !given.has(name));
}

/** The lines that all requests of a session have, and everything that they depend on. */
interface Beginning {
  readonly method: string;
  readonly reach: Reach;
  readonly id: string | undefined;
  readonly version: string | undefined;
  readonly hasAgent: boolean;
  readonly text: string;
}

/** The last one of each session: nearly all of its requests are alike. */
const beginnings = new WeakMap<ServerSession, Beginning>();

function beginningOf(
  method: string,
  reach: Reach,
  session: ServerSession,
  policies: readonly HeaderLine[],
): string {
  const { id, version } = session;
  const hasAgent = policies.some(([name]) => name === 'user-agent');
  const known = beginnings.get(session);
  if (
    known?.reach === reach &&
    known.method === method &&
    known.id === id &&
    known.version === version &&
    known.hasAgent === hasAgent
  )
    return known.text;
  const lines: HeaderLine[] = [['host', reach.authority ?? authorityOf(reach.destination.target)]];
  if (!hasAgent) lines.push(['user-agent', 'portcullis']);
  if (id !== undefined) lines.push(['mcp-session-id', id]);
  if (version !== undefined) lines.push(['mcp-protocol-version', version]);
  const text = `${method} ${reach.path} HTTP/1.1\r\n${textOf(lines)}`;
  beginnings.set(session, { method, reach, id, version, hasAgent, text });
  return text;
}

function textOf(lines: readonly HeaderLine[]): string {
  let text = '';
  for (const line of lines) text += `${line[0]}: ${line[1]}\r\n`;
  return text;
}
