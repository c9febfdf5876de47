import { z } from 'zod';
import {
  backendName,
  fields,
  hostAndPort,
  type HostAndPort,
  mayHoldShownSecret,
  oneOf,
  parsed,
  requestTarget,
} from '../../../schema/index.ts';

/** `host` as written: a URL, `name:port`, or a name whose port stands beside it. */
export interface WrittenHost {
  readonly host: string;
  readonly port?: number;
  readonly https?: boolean;
  readonly path?: string;
}

function readHost(text: string, usualPath: string | undefined): WrittenHost | undefined {
  const [, scheme, authority = '', rest = ''] = /^([a-z]+:\/\/)?([^/?#]*)(.*)$/is.exec(text) ?? [];
  if (authority.includes('@')) throw new Error('a URL with a password would end up in logs; use backendAuth');
  const whole = hostAndPort.safeParse((scheme ?? '') + authority);
  if (scheme === undefined) {
    if (rest !== '') throw new Error('expected a URL with https:// or http://, or the path in `path`');
    if (whole.success) return whole.data;
    // Any port would do to find out whether the rest is a name.
    const named = hostAndPort.safeParse(`${authority}:1`);
    return named.success ? { host: named.data.host } : undefined;
  }
  if (!whole.success) return undefined;
  const path = rest.startsWith('?') ? (usualPath ?? '/') + rest : rest;
  if (path === '' || path === '/')
    return { ...whole.data, ...(usualPath !== undefined && { path: usualPath }) };
  if (!requestTarget.safeParse(path).success) return undefined;
  return { ...whole.data, path };
}

const hostWith = (usualPath: string | undefined) => {
  const example =
    usualPath === undefined ? 'https://api.example.com/v1' : `https://mcp.example.com${usualPath}`;
  return parsed(`a URL such as ${example}, or name:port`, (text) => readHost(text, usualPath)).meta({
    samples: [example],
  });
};

/** A server as it is written: `{host: URL}`, `{host, port, path}` or `{backend, path}`. */
interface WrittenServer {
  readonly host?: WrittenHost | undefined;
  readonly port?: number | undefined;
  readonly path?: string | undefined;
  readonly backend?: string | undefined;
}

export interface RemoteServer {
  /** Undefined where `backend` names it. */
  readonly at: HostAndPort | undefined;
  readonly backend: string | undefined;
  readonly path: string;
}

/** The fields of which a server has exactly one. */
export const serverNames = ['host', 'backend'];

/**
 * The fields of a server.
 * @param usualPath the path where none is written; undefined where another source has it
 * @param words the words for the usual path in descriptions
 */
export const serverFields = (usualPath: string | undefined, words = usualPath) => ({
  host: mayHoldShownSecret(hostWith(usualPath))
    .optional()
    .describe(`Its URL; or its name, with \`port\` and \`path\` beside it. ${words} where no path is given.`),
  port: z.int().min(1).max(65_535).optional().describe('Its port, where `host` is a name alone.'),
  path: mayHoldShownSecret(requestTarget)
    .optional()
    .describe(`Path of its endpoint, where \`host\` is no URL; ${words} by default.`),
  backend: backendName
    .optional()
    .describe('Name of an entry of the top-level `backends` with a `host`, whose policies hold as well.'),
});

/** Reports the fields of a server that do not fit together. */
export function checkServer({ host: at, port, path }: WrittenServer, context: z.core.$RefinementCtx): void {
  const wrong = (field: string, message: string): void =>
    context.addIssue({ code: 'custom', path: [field], message });
  if (at === undefined) {
    if (port !== undefined) wrong('port', 'belongs to `host`, which is missing');
    return;
  }
  if (at.path !== undefined && path !== undefined) wrong('path', 'stands in the URL of `host` already');
  if (at.port !== undefined && port !== undefined) wrong('port', 'stands in `host` already');
  if (at.port === undefined && port === undefined) wrong('host', 'expected a URL, or `port` beside it');
}

/** The server that is written; its path is undefined where none is written. */
export const serverOf = ({
  host: at,
  port = 0,
  path,
  backend,
}: WrittenServer): Omit<RemoteServer, 'path'> & { readonly path: string | undefined } => ({
  at: at && { host: at.host, port: at.port ?? port, ...(at.https === true && { https: true }) },
  backend,
  path: at?.path ?? path,
});

/**
 * `{host: URL}`, `{host, port, path}` or `{backend, path}`.
 * @param usualPath the path of its endpoint where none is written
 */
export const remoteServer = (usualPath: string) =>
  oneOf(fields(serverFields(usualPath)), serverNames)
    .superRefine(checkServer)
    .transform((written): RemoteServer => ({
      ...serverOf(written),
      path: serverOf(written).path ?? usualPath,
    }));
