/** Clients of the admin API: programs with the secret of the operator, and browsers with a session. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findOperatorSecret } from '../../src/admin/index.ts';
import { ask, type Answer } from './http.testing.ts';
import type { GatewayProcess } from './gateway.testing.ts';

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Answer['headers'];
  /** Undefined for an answer without a body. */
  readonly json: unknown;
}

/** Asks the API. A body that is no text is sent as JSON. */
export type ApiClient = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
) => Promise<ApiAnswer>;

type Headers = Readonly<Record<string, string>>;

/** A client that sends the same headers with every request. */
export const apiClient =
  (gateway: GatewayProcess, own: Headers = {}): ApiClient =>
  async (method, path, body, headers = {}) => {
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const typed: Headers =
      text === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) };
    const { status, ...answer } = await ask(`${gateway.admin}${path}`, {
      method,
      headers: { ...typed, ...own, ...headers },
      ...(text !== undefined && { body: text }),
    });
    const isJson = /^application\/(?:problem\+)?json/.test(answer.headers['content-type'] ?? '');
    return { status, headers: answer.headers, json: isJson ? JSON.parse(answer.body) : undefined };
  };

const addressOf = ({ admin }: GatewayProcess) => {
  const { hostname: host, port } = new URL(admin);
  return { host, port: Number(port) };
};

/** The secret of the operator, and its file. */
export const operatorSecret = (gateway: GatewayProcess) =>
  findOperatorSecret(addressOf(gateway)) ?? assert.fail('the gateway stored no secret');

/** A program that has the secret of the operator. */
export const operatorOf = (gateway: GatewayProcess): ApiClient =>
  apiClient(gateway, { authorization: `Bearer ${operatorSecret(gateway).secret}` });

/** The file with the first link to the console. */
export const linkFileOf = (gateway: GatewayProcess): string => {
  const { host, port } = addressOf(gateway);
  return join(dirname(operatorSecret(gateway).file), `console-${host}-${port}`);
};

/** The first link to the console. */
export const firstLinkOf = (gateway: GatewayProcess): string =>
  readFileSync(linkFileOf(gateway), 'utf8').trim();

/** A new link, as `portcullis console` gets it. */
export async function newLink(gateway: GatewayProcess, role: string): Promise<string> {
  const { status, json } = await operatorOf(gateway)('POST', '/api/v1/login-links', { role });
  assert.equal(status, 200, JSON.stringify(json));
  return (json as { url: string }).url;
}

/** Opens a link as a browser does. @returns the cookie of the session; undefined where the login was refused */
export async function login(link: string): Promise<string | undefined> {
  const { status, headers } = await ask(link, { headers: { 'sec-fetch-site': 'none' } });
  assert.equal(status, 303);
  const [cookie] = headers['set-cookie'] ?? [];
  return cookie?.split(';', 1)[0];
}

/** A browser with a session. */
export interface Browser {
  /** Sends what the console sends: the cookie, and the token where the method needs it. */
  readonly ask: ApiClient;
  readonly cookie: string;
  readonly writeToken: string;
}

/** Logs in by a link. */
export async function browserOf(gateway: GatewayProcess, link: string): Promise<Browser> {
  const cookie = (await login(link)) ?? assert.fail('the login was refused');
  const reader = apiClient(gateway, { cookie, 'sec-fetch-site': 'same-origin' });
  const { status, json } = await reader('GET', '/api/v1/session');
  assert.equal(status, 200);
  const { writeToken } = json as { writeToken: string };
  const writer = apiClient(gateway, {
    cookie,
    'sec-fetch-site': 'same-origin',
    'x-portcullis-write': writeToken,
  });
  return { cookie, writeToken, ask: writer };
}
