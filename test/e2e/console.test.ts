/** The admin port serves the console: its files, its policy, its size, and the work that people do in it. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { request, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { builtConsole } from '../support/builtConsole.ts';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';

let built = '';
let gateway: GatewayProcess;

before(async () => {
  built = builtConsole();
  gateway = await startGateway(`
binds:
- port: 0
  listeners:
  - routes:
    - policies: { directResponse: { status: 204 } }
`);
});
after(async () => await gateway?.stop());

/** The files that the first page loads before it shows something. */
const firstFiles = (): string[] =>
  [...readFileSync(join(built, 'index.html'), 'utf8').matchAll(/(?:src|href)="\/ui\/([^"]+)"/g)].map(
    ([, path = '']) => path,
  );

const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${gateway.admin}${path}`, { headers, redirect: 'manual' });

test('the first page of the console needs at most 250 kB', () => {
  const files = ['index.html', ...firstFiles()];
  assert.ok(files.length >= 3, files.join(' '));
  const bytes = files.map((path) => gzipSync(readFileSync(join(built, path))).length);
  const sum = bytes.reduce((total, each) => total + each, 0);
  assert.ok(sum <= 250_000, `${sum} bytes`);
});

test('each page of the console has a policy with a nonce of its own', async () => {
  const nonces = new Set<string>();
  for (const path of ['/ui/', '/ui/', '/ui/connect']) {
    const response = await get(path);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('cache-control'), 'no-store');
    const policy = response.headers.get('content-security-policy') ?? '';
    assert.match(policy, /default-src 'none'.*frame-ancestors 'none'/);
    assert.doesNotMatch(policy, /unsafe|https?:|\*/);
    const [, nonce = ''] = /'nonce-([^']{22,})'/.exec(policy) ?? [];
    const page = await response.text();
    assert.ok(page.includes(`nonce="${nonce}"`));
    assert.doesNotMatch(page, /__CSP_NONCE__/);
    nonces.add(nonce);
  }
  assert.equal(nonces.size, 3);
});

test('the files of the console are compressed, and a browser keeps those whose names have a hash', async () => {
  for (const path of firstFiles()) {
    const response = await get(`/ui/${path}`, { 'accept-encoding': 'gzip' });
    assert.equal(response.status, 200, path);
    assert.equal(response.headers.get('content-encoding'), 'gzip');
    assert.match(response.headers.get('cache-control') ?? '', /immutable/);
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
    assert.equal(await response.text(), readFileSync(join(built, path), 'utf8'));
    const plain = await get(`/ui/${path}`, { 'accept-encoding': 'identity' });
    assert.equal(plain.headers.get('content-encoding'), null);
    assert.equal(await plain.text(), readFileSync(join(built, path), 'utf8'));
  }
  assert.match(await (await get('/ui/licenses.txt')).text(), /react/);
});

test('paths that are no file of the console are not found, and lead nowhere else', async () => {
  for (const path of ['/ui/assets/none.js', '/ui/%2e%2e/package.json', '/ui/..%2fpackage.json'])
    assert.equal((await get(path)).status, 404, path);
  const post = await fetch(`${gateway.admin}/ui/`, { method: 'POST' });
  assert.deepEqual([post.status, post.headers.get('allow')], [405, 'GET, HEAD']);
});

test('a browser is led from the root to the console, and other programs get the list of pages', async () => {
  for (const path of ['/', '/ui']) {
    const response = await get(path, { accept: 'text/html,*/*;q=0.8' });
    assert.deepEqual([response.status, response.headers.get('location')], [303, '/ui/']);
  }
  assert.match(await (await get('/')).text(), /^portcullis .*\n\nGET {2}/);
});

test('the console is refused to foreign hosts and sites', async () => {
  const statusOf = async (headers: Record<string, string>): Promise<number | undefined> => {
    const asked = request(`${gateway.admin}/ui/`, { headers, agent: false }).end();
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    response.resume();
    return response.statusCode;
  };
  assert.equal(await statusOf({ host: 'rebound.example' }), 403);
  assert.equal(await statusOf({ origin: 'http://other.example' }), 403);
  assert.equal(await statusOf({ 'sec-fetch-site': 'cross-site' }), 403);
  assert.equal(await statusOf({}), 200);
});
