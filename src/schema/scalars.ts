import { isIP } from 'node:net';
import { z } from 'zod';
import { messageOf } from '../errorText.ts';
import { parseDuration, standardMethods, type ListenAddress } from '../model/index.ts';
import { compileRegex } from '../regex/index.ts';
import { markDuration } from './durationMark.ts';
import { parsed } from './fields.ts';

/**
 * Path and query of a request, as they are sent: visible ASCII without what would end the request line or the target
 * (RFC 9112 §3.2, RFC 3986 §3.5). Heads are written one byte a character, so others could turn into a line break.
 */
export const requestTarget = parsed('a path that begins with /', (text) =>
  /^\/[\x21\x22\x24-\x7e]*$/.test(text) ? text : undefined,
).meta({ samples: ['/v1/orders'] });

/** A port to listen on; 0 lets the system choose. */
export const listenPort = z
  .int()
  .min(0)
  .max(65_535)
  .meta({ samples: [3000] });

/** The one address a port is open on. */
export const bindAddress = parsed('an IP address or localhost', (text) =>
  text === 'localhost' ? '127.0.0.1' : isIP(text) === 0 ? undefined : text,
).meta({ samples: ['127.0.0.1', '::'] });

/** An address, or a network of them; a length beyond that of the family is none. */
export const network = parsed('an address or a network such as 10.0.0.0/8', (text) => {
  const [address = '', bits, ...rest] = text.split('/');
  const family = address.includes('%') ? 0 : isIP(address);
  if (family === 0 || rest.length > 0) return undefined;
  const most = family === 4 ? 32 : 128;
  return bits === undefined || (/^(?:0|[1-9]\d{0,2})$/.test(bits) && Number(bits) <= most) ? text : undefined;
}).meta({ samples: ['10.0.0.0/8'] });

export const duration = markDuration(
  parsed('a duration such as 10s, 1m30s or 500ms, at most 596h', parseDuration).meta({
    description: 'A length of time: 500ms, 10s, 1m30s, 2h.',
    samples: ['10s', '1m30s', '500ms'],
  }),
);

/** A time that something is given; zero would never let it happen. */
export const positiveDuration = duration
  .refine((ms) => ms > 0, { error: 'expected a duration above zero' })
  .meta({ samples: ['10s', '1m30s', '500ms'] });

const sizeUnits: Readonly<Record<string, number>> = {
  '': 1,
  kib: 1024,
  mib: 1024 ** 2,
  gib: 1024 ** 3,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
};

function parseSize(text: string): number | undefined {
  const [, amount, unit] = /^(\d{1,15})\s*([a-z]*)$/i.exec(text) ?? [];
  const factor = sizeUnits[unit?.toLowerCase() ?? '?'];
  const bytes = factor === undefined ? Number.NaN : Number(amount) * factor;
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** Bytes, as a number or with a unit. */
export const size = z
  .union([z.int().min(0), parsed('a size', parseSize)], {
    error: 'expected a size in bytes, or with a unit such as 64KiB or 2MiB',
  })
  .meta({
    description: 'Bytes, as a number or with a unit: 65536, 64KiB, 2MiB.',
    samples: ['64KiB', '2MiB'],
  });

export const positiveSize = size
  .refine((bytes) => bytes > 0, { error: 'expected a size above zero' })
  .meta({ samples: ['64KiB', '2MiB'] });

const label = '[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?';
const name = new RegExp(`^${label}(?:\\.${label})*$`);
const ipv6Literal = /^\[[0-9a-f:.]+\]$/;

function parseHostname(text: string): string | undefined {
  const host = text.toLowerCase();
  if (host === '*') return host;
  if (host.length > 253) return undefined;
  return name.test(host.startsWith('*.') ? host.slice(2) : host) || ipv6Literal.test(host) ? host : undefined;
}

/** Lower case; a leading `*.` stands for one or more labels, `*` alone for every host. */
export const hostname = parsed(
  'a host name such as api.example.com or *.example.com, or *, without scheme and port',
  parseHostname,
).meta({ samples: ['api.example.com', '*.example.com'] });

export interface HostAndPort {
  readonly host: string;
  readonly port: number;
  /** Written as https://… */
  readonly https?: boolean;
}

function parseHostAndPort(text: string): HostAndPort | undefined {
  const [, scheme, host = '', digits, rest] =
    /^(?:([a-z]+):\/\/)?(\[[0-9a-f:.]+\]|[^:/@?#[\]\s]+)(?::(\d{1,5}))?(\/.*)?$/i.exec(text) ?? [];
  const https = scheme?.toLowerCase() === 'https';
  if (scheme !== undefined && !https && scheme.toLowerCase() !== 'http') return undefined;
  if (rest !== undefined && (scheme === undefined || rest !== '/'))
    throw new Error('expected name:port without a path; the path of the request is kept');
  const port = digits === undefined && scheme !== undefined ? (https ? 443 : 80) : Number(digits);
  if (!(port >= 1 && port <= 65_535)) return undefined;
  const bare = host.startsWith('[') ? host.slice(1, -1) : host.toLowerCase();
  return host.startsWith('[') || name.test(bare) ? { host: bare, port, ...(https && { https }) } : undefined;
}

/** The address of an HTTP backend. */
export const hostAndPort = parsed('name:port such as app.internal:8000 or [::1]:8000', parseHostAndPort).meta(
  {
    samples: ['localhost:8000'],
  },
);

/** The same for what is not spoken to in HTTP. */
export const plainHostAndPort = parsed('name:port such as db.internal:5432 or [::1]:5432', (text) => {
  if (text.includes('://'))
    throw new Error('expected name:port without a scheme; backendTLS says that connections are encrypted');
  return parseHostAndPort(text);
}).meta({ samples: ['localhost:5432'] });

/** Reads `off`, `ip:port`, `localhost:port`, `[::]:port` or `unix:/path`. */
export function parseListenAddress(text: string): ListenAddress | undefined {
  if (text === 'off') return { kind: 'off' };
  if (text.startsWith('unix:')) {
    const path = text.slice('unix:'.length);
    // 107 bytes are what the address of a unix socket can hold on Linux.
    return path.startsWith('/') && Buffer.byteLength(path) <= 107 ? { kind: 'unix', path } : undefined;
  }
  const [, v6, v4, digits] =
    /^(?:\[([0-9a-f:.]+)\]|(\d+\.\d+\.\d+\.\d+|localhost)):(\d{1,5})$/i.exec(text) ?? [];
  const port = Number(digits);
  if (!(port >= 0 && port <= 65_535)) return undefined;
  if (v4 !== undefined && /^\d/.test(v4) && v4.split('.').some((part) => Number(part) > 255))
    return undefined;
  // A name may resolve to several addresses; the admin interface must be on this machine and nowhere else.
  return { kind: 'tcp', host: v6 ?? (v4?.toLowerCase() === 'localhost' ? '127.0.0.1' : (v4 ?? '')), port };
}

export const listenAddress = parsed(
  'off, ip:port, localhost:port, [::]:port or unix:/path',
  parseListenAddress,
).meta({ samples: ['off', 'localhost:15000', '[::]:15020', 'unix:/run/portcullis/admin.sock'] });

/** RE2 syntax, of a bounded size, so that no pattern and no request can stall the gateway. Must match the whole value. */
export const regex = parsed('a regular expression', (text) => {
  try {
    compileRegex(text);
    return text;
  } catch (error) {
    const reason = messageOf(error);
    throw new Error(`is not a regular expression that can be used: ${reason}`, { cause: error });
  }
}).meta({ samples: ['/v[0-9]+/.*'] });

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Names of HTTP/2 for what HTTP/1.1 says in its first line and in `Host` (RFC 9113 §8.3.1). */
const pseudoHeaders = [':method', ':path', ':authority', ':scheme'];

/** RFC 9110 §5.1, or a pseudo-header; lower case. */
export const headerName = parsed('a header name', (text) => {
  const lower = text.toLowerCase();
  if (pseudoHeaders.includes(lower)) return lower;
  if (text.startsWith(':')) throw new Error(`expected a header name, or one of ${pseudoHeaders.join(', ')}`);
  return token.test(text) ? lower : undefined;
}).meta({ samples: ['x-tenant'] });

/** Methods are case-sensitive (RFC 9110 §9.1); the standard ones are put in upper case, as everybody means them. */
export const method = parsed('an HTTP method such as GET', (text) => {
  if (!token.test(text)) return undefined;
  const upper = text.toUpperCase();
  return standardMethods.includes(upper) ? upper : text;
}).meta({ samples: ['GET', 'POST'] });

/** The name of a top-level backend; a slash before it says that the backend belongs to no namespace. */
export const backendName = parsed('the name of a backend', (text) =>
  text === '' ? undefined : nameOfBackend(text),
).meta({ samples: ['orders'] });

export const nameOfBackend = (reference: string): string => reference.replace(/^\//, '');

/** A name that others refer to; `/` parts gateway and listener in a reference. */
export const objectName = parsed(
  'a name of letters, digits, dots, dashes and underscores, at most 128 long',
  (text) => (/^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/.test(text) ? text : undefined),
).meta({ samples: ['orders'] });
