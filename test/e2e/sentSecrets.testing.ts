/** Notes the secrets in every HTTP message that this process sends or serves while it tests a gateway. */

import { subscribe } from 'node:diagnostics_channel';
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import { usedSecret } from '../../src/usedSecrets.testing.ts';

/** Header fields whose whole value is a secret. */
const secretField = /^mcp-session-id$|^(?!sec-websocket-|idempotency-).*-(?:key|token|secret)$/;
/** Parameters of addresses and forms. */
const secretParameters = [
  'access_token',
  'actor_token',
  'assertion',
  'client_assertion',
  'client_secret',
  'code',
  'code_verifier',
  'refresh_token',
  'subject_token',
];
const secretMember = /"(?:access_token|refresh_token|id_token|client_secret)"\s*:\s*"([^"\\]+)"/g;
/** Forms are short. Longer bodies are something else. */
const longestForm = 65_536;

/** Notes the secrets of a header field. */
function noteField(name: string, value: string): void {
  if (name === 'authorization' || name === 'proxy-authorization') noteCredentials(value);
  else if (name === 'cookie') for (const pair of value.split(';')) noteCookie(pair);
  else if (name === 'set-cookie') noteCookie(value.split(';')[0] ?? '');
  else if (secretField.test(name)) usedSecret(value);
}

function noteCredentials(value: string): void {
  const [, scheme = '', given = ''] = /^(\S+)\s+(.*)$/.exec(value) ?? [];
  usedSecret(given);
  if (scheme.toLowerCase() !== 'basic') return;
  const pair = Buffer.from(given, 'base64').toString();
  usedSecret(pair.slice(pair.indexOf(':') + 1));
}

function noteCookie(pair: string): void {
  const equals = pair.indexOf('=');
  if (equals > 0) usedSecret(pair.slice(equals + 1).trim());
}

/** Notes the secrets of a query or of a form. */
function noteParameters(text: string): void {
  const given = new URLSearchParams(text);
  for (const name of secretParameters) for (const value of given.getAll(name)) usedSecret(value);
}

/** Notes the tokens of a response in JSON. */
export function noteTokens(text: string): void {
  for (const [, value = ''] of text.matchAll(secretMember)) usedSecret(value);
}

const noteAddress = (address: string): void => {
  const at = address.indexOf('?');
  if (at >= 0) noteParameters(address.slice(at + 1));
};

function noteFields(fields: Readonly<Record<string, number | string | readonly string[] | undefined>>): void {
  for (const [name, value] of Object.entries(fields))
    for (const one of Array.isArray(value) ? (value as string[]) : [value])
      if (typeof one === 'string') noteField(name.toLowerCase(), one);
}

/** Names and values in turn. */
function noteLines(lines: readonly (string | Buffer)[]): void {
  for (let at = 0; at + 1 < lines.length; at += 2)
    noteField(String(lines[at]).toLowerCase(), String(lines[at + 1]));
}

/** Reads a form while its server reads it. */
function noteForm(request: IncomingMessage): void {
  if (request.headers['content-type']?.startsWith('application/x-www-form-urlencoded') !== true) return;
  let form = '';
  const push = request.push.bind(request);
  request.push = (chunk: unknown, encoding?: BufferEncoding): boolean => {
    if (chunk === null) noteParameters(form);
    else if (form.length < longestForm) form += String(chunk);
    return push(chunk, encoding);
  };
}

/** Reads the end of a response, which for tokens is the whole body. */
function noteEnd(response: ServerResponse): void {
  const end = response.end.bind(response) as (...given: unknown[]) => ServerResponse;
  response.end = (...given: unknown[]): ServerResponse => {
    const [body] = given;
    if (typeof body === 'string' || body instanceof Uint8Array) noteTokens(String(body));
    noteFields(response.getHeaders());
    return end(...given);
  };
}

subscribe('http.server.request.start', (message) => {
  const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
  noteFields(request.headers);
  noteAddress(request.url ?? '');
  noteForm(request);
  noteEnd(response);
});
subscribe('http.client.request.start', (message) => {
  const { request } = message as { request: ClientRequest };
  noteFields(request.getHeaders());
  noteAddress(request.path);
});
subscribe('http.client.response.finish', (message) => {
  noteFields((message as { response: IncomingMessage }).response.headers);
});
subscribe('undici:request:create', (message) => {
  const { request } = message as { request: { path: string; headers: readonly string[] } };
  noteLines(request.headers);
  noteAddress(request.path);
});
subscribe('undici:request:headers', (message) => {
  noteLines((message as { response: { headers: readonly Buffer[] } }).response.headers);
});
