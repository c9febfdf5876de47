/** Tokens that an expression finds: the text of a caller decides neither the framing nor the fields of the gateway. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request as ask, type IncomingMessage } from 'node:http';
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { makeKey, makeToken } from '../../src/auth/token.testing.ts';
import { startGateway } from '../../src/main.ts';

const key = makeKey('P-256', 'k1');
const now = Math.floor(Date.now() / 1_000);
const token = makeToken('ES256', key, {
  claims: { iss: 'https://issuer.test', aud: 'a', sub: 'mallory', iat: now - 5, exp: now + 300 },
});
const settings = {
  mode: 'permissive',
  issuer: 'https://issuer.test',
  audiences: ['a'],
  jwks: JSON.stringify({ keys: [key.jwk] }),
};
const expression = 'request.headers["x-proof"]';
const jwtAuth = { ...settings, location: { expression } };
const mcpAuthentication = { ...settings, authorizationLocation: { expression } };

/** The configuration for the address of the app. */
type Document = (host: string) => object;

const to = (host: string): object => ({ backends: [{ host }] });
const places: Readonly<Record<string, Document>> = {
  'jwtAuth of a route': (host) => ({
    binds: [{ port: 0, listeners: [{ routes: [{ policies: { jwtAuth }, ...to(host) }] }] }],
  }),
  'jwtAuth of a listener': (host) => ({
    binds: [{ port: 0, listeners: [{ policies: { jwtAuth }, routes: [to(host)] }] }],
  }),
  'jwtAuth of a gateway': (host) => ({
    gateways: { default: { port: 0, jwtAuth } },
    routes: [to(host)],
  }),
  'mcpAuthentication of a route': (host) => ({
    binds: [{ port: 0, listeners: [{ routes: [{ policies: { mcpAuthentication }, ...to(host) }] }] }],
  }),
};

/** A request that arrived at the app. */
interface Arrived {
  readonly line: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

async function startApp(t: TestContext): Promise<{ readonly host: string; readonly arrived: Arrived[] }> {
  const arrived: Arrived[] = [];
  const app = createServer((request, response) => {
    void text(request).then((body) => {
      arrived.push({ line: `${request.method} ${request.url}`, headers: request.headers, body });
      response.end();
    });
  });
  app.listen(0, '127.0.0.1');
  await once(app, 'listening');
  t.after(() => {
    app.close();
    app.closeAllConnections();
  });
  return { host: `127.0.0.1:${(app.address() as AddressInfo).port}`, arrived };
}

/** Sends a request, and comes to the status and the body of the response. */
type Send = (
  port: number,
  headers: Readonly<Record<string, string>>,
  body: string,
) => Promise<readonly [status: number, body: string]>;

const versions: Readonly<Record<string, Send>> = {
  'HTTP/1.1': async (port, headers, body) => {
    const request = ask({ host: '127.0.0.1', port, method: 'POST', path: '/public', headers, agent: false });
    request.end(body);
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return [response.statusCode ?? 0, await text(response)];
  },
  'HTTP/2': async (port, headers, body) => {
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    try {
      const stream = session.request({ ':method': 'POST', ':path': '/public', ...headers });
      stream.end(body);
      const [response] = (await once(stream, 'response')) as [IncomingHttpHeaders];
      return [Number(response[':status']), await text(stream)];
    } finally {
      session.close();
    }
  },
};

const inner = 'GET /admin HTTP/1.1\r\nhost: inner\r\n\r\n';
const framed = { 'content-length': String(inner.length) };

for (const [place, document] of Object.entries(places))
  for (const [version, send] of Object.entries(versions))
    test(`${place} keeps framing and forwarding fields from the text of a caller over ${version}`, async (t) => {
      const { host, arrived } = await startApp(t);
      const config = {
        adminAddr: 'off',
        statsAddr: 'off',
        readinessAddr: 'off',
        logging: { level: 'error', accessLog: 'none' },
      };
      const gateway = await startGateway({
        source: { text: JSON.stringify({ config, ...document(host) }) },
        env: {},
        version: 'test',
      });
      t.after(() => gateway.closeNow());
      const port = gateway.binds[0]?.port ?? 0;
      const onlyArrived = (): Arrived => {
        const [one, ...others] = arrived.splice(0);
        assert.ok(one !== undefined);
        assert.deepEqual(others, []);
        assert.deepEqual([one.line, one.body], ['POST /public', inner]);
        return one;
      };

      assert.equal((await send(port, { ...framed, 'x-proof': String(inner.length) }, inner))[0], 200);
      assert.equal(onlyArrived().headers['x-proof'], String(inner.length));

      const nines = { 'x-proof': '9.9.9.9', 'x-forwarded-for': '9.9.9.9' };
      assert.equal((await send(port, { ...framed, ...nines }, inner))[0], 200);
      assert.equal(onlyArrived().headers['x-forwarded-for'], '9.9.9.9, 127.0.0.1');

      const holders = { 'x-proof': token, 'x-copy': token, 'x-forwarded-access-token': token };
      assert.equal((await send(port, { ...framed, ...holders }, inner))[0], 200);
      const { headers } = onlyArrived();
      for (const name of Object.keys(holders)) assert.equal(headers[name], undefined, name);
      assert.equal(headers['x-forwarded-for'], '127.0.0.1');

      for (const name of ['x-forwarded-for', 'x-forwarded-host', 'forwarded', 'x-request-id', 'via']) {
        const [status, body] = await send(port, { ...framed, 'x-proof': token, [name]: token }, inner);
        assert.equal(status, 400, name);
        assert.match(body, /the token is in a field that must not hold it/);
      }
      assert.deepEqual(arrived, []);
    });
