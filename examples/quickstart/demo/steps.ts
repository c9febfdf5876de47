import type { Answer, Ask } from './ask.ts';

export interface Addresses {
  readonly gateway: string;
  readonly issuer: string;
  readonly idp: string;
  /** The bearer token that the authorization server demands for `/admin/…`. */
  readonly adminSecret: string;
}

/** One request of the walk and what its answer has to be. */
export interface Step {
  /** A new heading; steps without one go with the step before. */
  readonly title?: string;
  readonly ask: Ask;
  /** The shell variable that takes something out of the answer, for later steps. */
  readonly keep?: Keep;
  readonly status: number;
  /** Says what is wrong with an answer of the right status. */
  check?(answer: Answer): string | undefined;
}

interface Keep {
  readonly name: string;
  readonly from: keyof typeof keepers;
}

interface Keeper {
  read(answer: Answer): string | undefined;
  /** curl's flags and the end of the pipe that do the same in a shell. */
  readonly flags: string;
  readonly filter: string;
}

/** The ways of taking a value out of an answer, here and in a shell. */
export const keepers = {
  token: {
    read: ({ body }) => /"access_token":"([^"]*)"/.exec(body)?.[1],
    flags: '-s',
    filter: `sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/'`,
  },
  session: {
    read: ({ headers }) => headers['mcp-session-id']?.toString(),
    flags: '-s -D - -o /dev/null',
    filter: `tr -d '\\r' | awk 'tolower($1) == "mcp-session-id:" { print $2 }'`,
  },
} satisfies Record<string, Keeper>;

const revision = '2025-11-25';
const jsonIn = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

/** The walk: what a user of the gateway does and what a stranger meets. */
export function stepsOf({ gateway, issuer, idp, adminSecret }: Addresses): Step[] {
  const mcp = `${gateway}/mcp`;
  const token = (client: string, name: string): Pick<Step, 'ask' | 'keep' | 'status'> => ({
    ask: {
      url: `${issuer}/v1/token`,
      form: {
        grant_type: 'client_credentials',
        client_id: client,
        client_secret: `${client}-secret`,
        scope: 'mcp',
      },
    },
    keep: { name, from: 'token' },
    status: 200,
  });
  const initialize = (headers: Record<string, string>): Ask => ({
    url: mcp,
    headers: { ...headers, ...jsonIn },
    json: {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'demo', version: '1' } },
    },
  });
  const bearer = (name: string): Record<string, string> => ({ authorization: `Bearer $${name}` });
  const inSession = { ...bearer('TOKEN'), 'mcp-session-id': '$SESSION', 'mcp-protocol-version': revision };
  const refused = (
    status: number,
    headers: Record<string, string>,
    expected: RegExp,
  ): Pick<Step, 'ask' | 'status' | 'check'> => ({
    ask: initialize(headers),
    status,
    check: ({ headers: answered }) => {
      const challenge = answered['www-authenticate']?.toString() ?? '';
      return expected.test(challenge) ? undefined : `the challenge is "${challenge}"`;
    },
  });

  return [
    { title: 'Get a token with client credentials', ...token('demo', 'TOKEN') },
    {
      title: 'Open an MCP session through the gateway with it',
      ask: initialize(bearer('TOKEN')),
      keep: { name: 'SESSION', from: 'session' },
      status: 200,
      check: ({ body }) => (body.includes('"serverInfo"') ? undefined : 'no serverInfo in the answer'),
    },
    {
      ask: {
        url: mcp,
        headers: { ...inSession, ...jsonIn },
        json: { jsonrpc: '2.0', method: 'notifications/initialized' },
      },
      status: 202,
    },
    {
      title: 'Call a tool',
      ask: {
        url: mcp,
        headers: { ...inSession, ...jsonIn },
        json: {
          jsonrpc: '2.0',
          id: 2,
          method: 'tools/call',
          params: { name: 'echo', arguments: { message: 'hello' } },
        },
      },
      status: 200,
      check: ({ body }) => (body.includes('Echo: hello') ? undefined : 'the tool did not echo'),
    },
    { title: 'Without a token: refused', ...refused(401, {}, /^Bearer .*resource_metadata="[^"]+"/) },
    {
      title: 'With an expired token: refused',
      ask: {
        url: `${idp}/admin/token`,
        headers: { authorization: `Bearer ${adminSecret}` },
        json: { client: 'demo', expiresIn: -300 },
      },
      keep: { name: 'EXPIRED', from: 'token' },
      status: 200,
    },
    refused(401, bearer('EXPIRED'), /error="invalid_token"/),
    { title: 'With a token for another audience: refused', ...token('elsewhere', 'ELSEWHERE') },
    refused(401, bearer('ELSEWHERE'), /error="invalid_token"/),
    { title: 'With a token that lacks the group: forbidden', ...token('guest', 'GUEST') },
    { ask: initialize(bearer('GUEST')), status: 403 },
    {
      title: 'End the MCP session',
      ask: { url: mcp, method: 'DELETE', headers: inSession },
      status: 204,
    },
    {
      title: 'Reach the HTTP app by its host name',
      ask: { url: `${gateway}/headers`, headers: { host: 'www.example.com' } },
      status: 200,
      check: ({ body }) =>
        /"Host":\s*\[\s*"www\.example\.com"\s*\]/.test(body)
          ? undefined
          : 'the app did not see the host name',
    },
  ];
}
