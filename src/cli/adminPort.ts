import { request, type RequestOptions } from 'node:http';
import type { TcpAddress } from '../admin/index.ts';
import { UsageError, type Flag, type Terminal } from './command.ts';
import { reasonOf } from './reason.ts';

/** The address of the admin port unless the configuration names another. */
export const usualAddress = '127.0.0.1:15000';

/** The flags that say which gateway a command talks to. */
export const adminFlags: Readonly<Record<'admin' | 'secret-file', Flag>> = {
  admin: {
    type: 'string',
    value: 'ADDRESS',
    help: `admin port of the gateway: HOST:PORT or unix:PATH (${usualAddress})`,
  },
  'secret-file': {
    type: 'string',
    value: 'FILE',
    help: 'file with the admin secret; needed only for a gateway of another user or machine',
  },
};

export interface AdminQuestion {
  readonly method: 'GET' | 'POST';
  /** JSON. */
  readonly body?: string;
  /** Path and query. */
  readonly path: string;
  readonly address?: string | undefined;
  readonly secretFile?: string | undefined;
  /** Gets the text of an event stream while it arrives; the body of the answer is empty then. */
  readonly onEvents?: (text: string) => void;
}

export interface AdminAnswer {
  readonly status: number;
  readonly body: string;
}

/**
 * Asks the admin port of a gateway. A change carries the secret of this user, as the port demands it over TCP.
 * @returns undefined where no gateway answers; the reason is on the terminal
 * @throws UsageError where the address is none, or the secret file cannot be used
 */
export async function askAdmin(
  { method, path, body, address = usualAddress, secretFile, onEvents }: AdminQuestion,
  terminal: Terminal,
): Promise<AdminAnswer | undefined> {
  const target = targetOf(address);
  // Other pages need no secret for reading, and a program that listens there by now need not learn it.
  const isOpen = method === 'GET' && !path.startsWith('/api/');
  const secret = isOpen ? undefined : await secretFor(target, secretFile, terminal);
  const headers = {
    ...(secret !== undefined && { authorization: `Bearer ${secret}` }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
  };
  const { tcp, ...connection } = target;
  try {
    return await send(
      {
        ...connection,
        host: tcp?.host,
        port: tcp?.port,
        method,
        path,
        headers,
        agent: false,
      },
      body,
      onEvents,
    );
  } catch (error) {
    terminal.err(`portcullis: no gateway answers at ${address}: ${reasonOf(error)}\n`);
    return undefined;
  }
}

interface Target extends Pick<RequestOptions, 'socketPath'> {
  readonly tcp?: TcpAddress;
}

/** @throws UsageError where it is no address */
function targetOf(address: string): Target {
  if (address.startsWith('unix:')) return { socketPath: address.slice('unix:'.length) };
  try {
    const { hostname, port, pathname } = new URL(`http://${address.replace(/^http:\/\//, '')}`);
    if (hostname !== '' && pathname === '/')
      return { tcp: { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port || 80) } };
  } catch {
    // Said below.
  }
  throw new UsageError(`--admin ${JSON.stringify(address)}: expected HOST:PORT or unix:PATH`);
}

async function secretFor(
  { tcp }: Target,
  file: string | undefined,
  terminal: Terminal,
): Promise<string | undefined> {
  if (tcp === undefined) return undefined;
  // Loaded here, so that a question without a secret starts without the code of the port.
  const { findOperatorSecret, readSecret } = await import('../admin/index.ts');
  if (file === undefined) return findOperatorSecret(tcp, terminal.env)?.secret;
  try {
    return readSecret(file);
  } catch (error) {
    throw new UsageError(`--secret-file: ${reasonOf(error)}`);
  }
}

function send(
  options: RequestOptions,
  body: string | undefined,
  onEvents: AdminQuestion['onEvents'],
): Promise<AdminAnswer> {
  return new Promise((resolve, reject) => {
    request(options, (response) => {
      let body = '';
      const isStream = response.headers['content-type']?.startsWith('text/event-stream') === true;
      response.setEncoding('utf8').on('data', (text: string) => {
        if (isStream && onEvents !== undefined) onEvents(text);
        else body += text;
      });
      response.on('error', reject).on('end', () => resolve({ status: response.statusCode ?? 0, body }));
    })
      .on('error', reject)
      .end(body);
  });
}
