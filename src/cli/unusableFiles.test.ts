import assert from 'node:assert/strict';
import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { loadText, renderProblem } from '../config/index.ts';
import { certificate } from '../proxy/certificates.testing.ts';
import { unusableFiles } from './unusableFiles.ts';

const folder = mkdtempSync(join(tmpdir(), 'unusable-files-'));
after(() => rmSync(folder, { recursive: true }));

const written = (name: string, text: string): string => {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
};

const [own, other] = [certificate(), certificate()];
const cert = written('cert.pem', own.cert);
const key = written('key.pem', own.key);
const otherKey = written('other.pem', other.key);
const junk = written('junk', 'no such thing');
const empty = written('empty', '');
const encrypted = written(
  'encrypted.pem',
  createPrivateKey(own.key)
    .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'secret' })
    .toString(),
);
const keys = written(
  'keys.json',
  JSON.stringify({
    keys: [
      { ...generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' }), kid: 'a' },
    ],
  }),
);
const users = written('users', 'ann:$2y$04$dG4GwAZ4w/XbnznVMhkQMOJcJvBc1rIqTzXtDPtMGA7NDo8uWh/9y\n');

/** The problems of a route, or of a gateway, as `check` shows them. */
async function problems(settings: string): Promise<readonly string[]> {
  const loaded = loadText(settings, { file: 'c.yaml', env: {} });
  assert.ok(loaded.ok, JSON.stringify(loaded));
  return (await unusableFiles(loaded.model, loaded.named)).map(renderProblem);
}

const listener = (tls: string): string =>
  `gateways: {default: {port: 1, tls: ${tls}}}\nroutes: [{policies: {directResponse: {status: 204}}}]`;

const route = (policies: string): string =>
  `binds: [{port: 1, listeners: [{routes: [{policies: ${policies}, backends: [{host: "a:1"}]}]}]}]`;

test('files that a gateway can use have no problem', async () => {
  for (const settings of [
    listener(`{cert: ${cert}, key: ${key}, root: ${cert}}`),
    route(`{backendTLS: {root: ${cert}, cert: ${cert}, key: ${key}}}`),
    route(`{basicAuth: {mode: strict, htpasswd: {file: ${users}}}}`),
    route(`{jwtAuth: {mode: strict, issuer: i, audiences: [a], jwks: {file: ${keys}}}}`),
    // A key set of the network is no file.
    route(`{jwtAuth: {mode: strict, issuer: i, audiences: [a], jwks: {url: "http://127.0.0.1:1"}}}`),
  ])
    assert.deepEqual(await problems(settings), [], settings);
});

test('a certificate of a listener that a gateway rejects is a problem at its file', async () => {
  for (const [tls, path, message] of [
    [
      `{cert: ${cert}, key: ${otherKey}}`,
      'key',
      `${otherKey}: the private key belongs to another certificate`,
    ],
    [`{cert: ${key}, key: ${cert}}`, 'cert', `${key} holds no certificate`],
    [
      `{cert: ${cert}, key: ${encrypted}}`,
      'key',
      `${encrypted}: the private key is encrypted; store it without`,
    ],
    [`{cert: ${cert}, key: ${junk}}`, 'key', `${junk}: holds no private key that can be read`],
    [`{cert: ${cert}, key: ${key}, root: ${junk}}`, 'root', `${junk} holds no certificate`],
  ] as const) {
    const [problem = '', ...more] = await problems(listener(tls));
    assert.match(problem, /^c\.yaml:1:\d+: /);
    assert.ok(problem.includes(`: gateways.default.tls.${path}: tls.${path}: ${message}`), problem);
    assert.deepEqual(more, []);
  }
});

test('a file of a route that a gateway cannot use is a problem at that file', async () => {
  for (const [policies, message] of [
    [`{backendTLS: {root: ${junk}}}`, `backendTLS.root: backendTLS.root: ${junk} holds no certificate`],
    [
      `{backendTLS: {cert: ${cert}, key: ${otherKey}}}`,
      `backendTLS.key: backendTLS.key: ${otherKey}: the private`,
    ],
    [`{basicAuth: {mode: strict, htpasswd: {file: ${empty}}}}`, 'htpasswd.file: basicAuth.htpasswd: '],
    [
      `{backendAuth: {key: {file: ${empty}}}}`,
      `backendAuth.key.file: backendAuth.key: ${empty}: the secret is empty`,
    ],
    [
      `{jwtAuth: {mode: strict, issuer: i, audiences: [a], jwks: {file: ${junk}}}}`,
      `jwks.file: jwks: ${junk}: there are no keys in it`,
    ],
  ] as const) {
    const [problem = '', ...more] = await problems(route(policies));
    assert.match(problem, /^c\.yaml:1:\d+: binds\[0\]\.listeners\[0\]\.routes\[0\]\.policies\./);
    assert.ok(problem.includes(message), problem);
    assert.deepEqual(more, []);
  }
});

test('a fault of the environment is no problem of a file', async (t) => {
  const { AWS_REGION, AWS_DEFAULT_REGION, AWS_CONFIG_FILE } = process.env;
  t.after(() => Object.assign(process.env, { AWS_REGION, AWS_DEFAULT_REGION, AWS_CONFIG_FILE }));
  delete process.env['AWS_REGION'];
  delete process.env['AWS_DEFAULT_REGION'];
  process.env['AWS_CONFIG_FILE'] = join(folder, 'none');
  const aws = 'backendAuth: {aws: {serviceName: s3}}';
  assert.deepEqual(
    await problems(route(`{${aws}, basicAuth: {mode: strict, htpasswd: {file: ${users}}}}`)),
    [],
  );
});
