import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type TestContext } from 'node:test';
import type { Terminal } from './command.ts';
import { main } from './index.ts';

interface Answer {
  readonly status?: number;
  readonly body: unknown;
}

interface Issuer {
  readonly url: string;
  /** Requests as `METHOD /path body`. */
  readonly requests: readonly string[];
}

/** An issuer whose answers are a table from `METHOD /path`; everything else is 404. */
async function issuer(
  t: TestContext,
  path: string,
  answers: (url: string) => Record<string, Answer>,
): Promise<Issuer> {
  const requests: string[] = [];
  let table: Record<string, Answer> = {};
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      requests.push(`${request.method ?? ''} ${request.url ?? ''}${body === '' ? '' : ` ${body}`}`);
      const answer = table[`${request.method ?? ''} ${request.url ?? ''}`] ?? { status: 404, body: {} };
      response.writeHead(answer.status ?? 200, { connection: 'close' }).end(JSON.stringify(answer.body));
    });
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
  table = answers(url);
  return { url, requests };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) body += String(chunk);
  return body;
}

async function token(
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<[number, string, string]> {
  let out = '';
  let err = '';
  const terminal: Terminal = { out: (text) => (out += text), err: (text) => (err += text), env };
  return [await main(['token', ...args], terminal), out, err];
}

test('the token alone is printed, for the client and scopes that were asked for', async (t) => {
  const { url, requests } = await issuer(t, '/oauth2/default', (self) => ({
    'GET /oauth2/default/.well-known/openid-configuration': {
      body: { issuer: self, token_endpoint: `${self}/v1/token` },
    },
    'POST /oauth2/default/v1/token': { body: { access_token: 'abc.def.ghi', token_type: 'Bearer' } },
  }));
  const args = ['--issuer', `${url}/`, '--client-id', 'me', '--scope', 'a b'];
  assert.deepEqual(await token(args, { PORTCULLIS_CLIENT_SECRET: 'x&y' }), [0, 'abc.def.ghi\n', '']);
  assert.deepEqual(requests, [
    'GET /oauth2/default/.well-known/openid-configuration',
    'POST /oauth2/default/v1/token grant_type=client_credentials&client_id=me&client_secret=x%26y&scope=a+b',
  ]);
});

test('metadata is also found where RFC 8414 puts it', async (t) => {
  const { url, requests } = await issuer(t, '/tenant', (self) => ({
    'GET /.well-known/oauth-authorization-server/tenant': {
      body: { issuer: self, token_endpoint: `${self}/token` },
    },
    'POST /tenant/token': { body: { access_token: 'T' } },
  }));
  const [code, out] = await token(['--issuer', url, '--client-id', 'me', '--client-secret', 's']);
  assert.deepEqual([code, out], [0, 'T\n']);
  assert.equal(requests.length, 4);
});

test('the command prints the refusal of the issuer and exits with code 3', async (t) => {
  const { url } = await issuer(t, '', (self) => ({
    'GET /.well-known/openid-configuration': { body: { issuer: self, token_endpoint: `${self}/token` } },
    'POST /token': { status: 401, body: { error: 'invalid_client', error_description: 'wrong secret' } },
  }));
  const [code, out, err] = await token([
    '--issuer',
    url,
    '--client-id',
    'me',
    '--client-secret',
    'swordfish',
  ]);
  assert.deepEqual([code, out], [3, '']);
  assert.equal(err, `portcullis: ${url}/token answers with status 401: invalid_client: wrong secret\n`);
});

test('the secret is not sent to the token endpoint of another issuer', async (t) => {
  const { url, requests } = await issuer(t, '', (self) => ({
    'GET /.well-known/openid-configuration': {
      body: { issuer: 'http://other', token_endpoint: `${self}/token` },
    },
  }));
  const [code, , err] = await token(['--issuer', url, '--client-id', 'me', '--client-secret', 's']);
  assert.equal(code, 3);
  assert.match(err, /is the metadata of another issuer, http:\/\/other/);
  assert.ok(requests.every((request) => !request.startsWith('POST')));
});

test('the secret is not sent where the metadata names no issuer, or an endpoint without TLS', async (t) => {
  const nameless = await issuer(t, '', (self) => ({
    'GET /.well-known/openid-configuration': { body: { token_endpoint: `${self}/token` } },
    'POST /token': { body: { access_token: 'T' } },
  }));
  const [code, out, err] = await token([
    '--issuer',
    nameless.url,
    '--client-id',
    'me',
    '--client-secret',
    's',
  ]);
  assert.deepEqual([code, out], [3, '']);
  assert.match(err, /names no issuer/);
  assert.ok(nameless.requests.every((request) => !request.startsWith('POST')));
});

test('a token that is none is refused, and control characters never reach the terminal', async (t) => {
  const escape = '\u001b[2J\u009b1m';
  for (const wrong of [`abc${escape}`, 'abc\nrm -rf', 'a b', '', '=a', 'ä']) {
    const { url } = await issuer(t, '', (self) => ({
      'GET /.well-known/openid-configuration': { body: { issuer: self, token_endpoint: `${self}/token` } },
      'POST /token': { body: { access_token: wrong } },
    }));
    const [code, out, err] = await token(['--issuer', url, '--client-id', 'me', '--client-secret', 's']);
    assert.deepEqual([code, out], [3, ''], JSON.stringify(wrong));
    assert.match(err, /without a valid bearer token/);
  }
  const { url } = await issuer(t, '', (self) => ({
    'GET /.well-known/openid-configuration': { body: { issuer: self, token_endpoint: `${self}/token` } },
    'POST /token': { status: 400, body: { error: 'no', error_description: `see${escape}\r` } },
  }));
  const [, , err] = await token(['--issuer', url, '--client-id', 'me', '--client-secret', 's']);
  assert.match(err, /no: see\\u001b\[2J\\u009b1m\\u000d\n$/);
  // eslint-disable-next-line no-control-regex -- control characters are the subject
  assert.doesNotMatch(err, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
});

test('an issuer that cannot be reached is named with the reason', async (t) => {
  const { url } = await issuer(t, '', () => ({}));
  const [code, , err] = await token(['--issuer', url, '--client-id', 'me', '--client-secret', 's']);
  assert.equal(code, 3);
  assert.match(err, /cannot find the token endpoint of .*: .* answers with status 404/);
  const [, , refused] = await token([
    '--issuer',
    'http://127.0.0.1:1',
    '--client-id',
    'me',
    '--client-secret',
    's',
  ]);
  assert.match(refused, /ECONNREFUSED|bad port|fetch failed/);
});
