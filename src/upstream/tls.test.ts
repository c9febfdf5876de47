import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test, type TestContext } from 'node:test';
import { connect, type PeerCertificate, type TLSSocket } from 'node:tls';
import { recordingLog } from '../mcp/harness.testing.ts';
import type { BackendTls } from '../model/index.ts';
import { authority, certificate, type Identity } from '../proxy/certificates.testing.ts';
import { startRaw } from '../proxy/rawServer.testing.ts';
import { until } from '../until.testing.ts';
import { tlsSettings } from './open.ts';
import { TlsMaterial } from './tls.ts';

const ca = authority();
const folder = mkdtempSync(join(tmpdir(), 'portcullis-material-'));
after(() => rmSync(folder, { recursive: true }));

const strict: BackendTls = {
  root: { inline: ca.cert },
  insecure: false,
  insecureHost: false,
  subjectAltNames: [],
};

const material = (settings: Partial<BackendTls> = {}, host = 'app.test'): TlsMaterial =>
  new TlsMaterial({ ...strict, ...settings }, host, recordingLog().log);

function write(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
  return file;
}

/** The result of a handshake with these settings: the reason of its failure, or `trusted`. */
async function handshake(t: TestContext, tls: TlsMaterial, identity: Identity): Promise<string> {
  const { port } = await startRaw(t, { tls: identity });
  const socket: TLSSocket = connect({
    port,
    host: '127.0.0.1',
    ...tlsSettings(tls.options(), undefined),
  });
  t.after(() => socket.destroy());
  try {
    await once(socket, 'secureConnect');
    return 'trusted';
  } catch (error) {
    return (error as Error).message;
  }
}

test('the certificate must be for the host of the backend, or for the hostname of the settings', async (t) => {
  const identity = ca.issue({ names: ['app.test'] });
  assert.equal(await handshake(t, material(), identity), 'trusted');
  assert.match(await handshake(t, material({}, 'other.test'), identity), /altnames/);
  assert.equal(await handshake(t, material({ hostname: 'app.test' }, 'other.test'), identity), 'trusted');
});

test('an address is compared with the certificate, but is never asked for as a server name', async (t) => {
  const tls = material({}, '127.0.0.1');
  assert.equal(tls.options().servername, '');
  assert.equal(material().options().servername, 'app.test');
  assert.equal(await handshake(t, tls, ca.issue({ names: ['127.0.0.1'] })), 'trusted');
  assert.match(await handshake(t, tls, ca.issue({ names: ['127.0.0.2'] })), /IP: 127.0.0.1 is not in/);
});

test('another name or URI of the certificate counts where the settings list it', async (t) => {
  const identity = ca.issue({ names: ['pod.test', 'spiffe://cluster/ns/app'] });
  for (const [subjectAltNames, trusted] of [
    [['pod.test'], true],
    [['spiffe://cluster/ns/app'], true],
    [['nobody.test', 'spiffe://cluster/ns/app'], true],
    [['spiffe://cluster/ns'], false],
    [['spiffe://cluster/ns/app/more'], false],
    [[], false],
  ] as const)
    assert.equal(
      (await handshake(t, material({ subjectAltNames }), identity)) === 'trusted',
      trusted,
      subjectAltNames.join(),
    );
});

test('with a list of names, the host name proves nothing', async (t) => {
  const settings = { subjectAltNames: ['spiffe://cluster/ns/app'], subjectAltNamesOnly: true } as const;
  assert.equal(
    await handshake(t, material(settings), ca.issue({ names: ['app.test'] })),
    'it holds none of the names spiffe://cluster/ns/app',
  );
  const right = ca.issue({ names: ['spiffe://cluster/ns/app'] });
  assert.equal(await handshake(t, material(settings), right), 'trusted');
});

test('a URI that only looks like one, inside of another alternative name, is not accepted (CVE-2021-44532)', () => {
  const check = material({ subjectAltNames: ['spiffe://cluster/admin'] }).options().checkServerIdentity;
  const held = (subjectaltname: string): boolean =>
    check('app.test', { subject: {}, subjectaltname } as PeerCertificate) === undefined;
  assert.equal(held('URI:spiffe://cluster/admin'), true);
  assert.equal(held('DNS:x.test, URI:spiffe://cluster/admin'), true);
  assert.equal(held('URI:"spiffe://x, URI:spiffe://cluster/admin"'), false);
  assert.equal(held('DNS:"x.test, URI:spiffe://cluster/admin"'), false);
  assert.equal(held('URI:spiffe://cluster/admin/x'), false);
});

test('insecure takes every certificate, insecureHost a trusted one for whatever name', async (t) => {
  const foreign = certificate({ names: ['app.test'] });
  const elsewhere = ca.issue({ names: ['elsewhere.test'] });
  assert.match(await handshake(t, material(), foreign), /self-signed/);
  assert.match(await handshake(t, material({ insecureHost: true }), foreign), /self-signed/);
  assert.equal(await handshake(t, material({ insecureHost: true }), elsewhere), 'trusted');
  assert.equal(await handshake(t, material({ insecure: true }), foreign), 'trusted');
});

test('HTTP/1.1 is offered unless the settings offer something else', () => {
  assert.deepEqual(material().options().ALPNProtocols, ['http/1.1']);
  assert.deepEqual(material({ alpn: [] }).options().ALPNProtocols, []);
});

test('files that change are in use from the next look on, as another generation', async (t) => {
  const other = authority('other');
  const root = { file: write('root.crt', other.cert) };
  const tls = material({ root });
  const identity = ca.issue({ names: ['app.test'] });
  assert.match(await handshake(t, tls, identity), /unable to verify|self-signed|local issuer/);
  assert.equal(await tls.look(), false);
  write('root.crt', ca.cert);
  await until('the change is seen', () => tls.look());
  assert.equal(tls.generation, 1);
  assert.equal(await handshake(t, tls, identity), 'trusted');
});

test('files that cannot be used leave the last good ones in use, and the log names the backend', async (t) => {
  const { log, lines } = recordingLog();
  const root = { file: write('kept.crt', ca.cert) };
  const tls = new TlsMaterial({ ...strict, root }, 'app.test', log);
  write('kept.crt', 'nothing of use');
  await until('the change is seen', async () => {
    await tls.look();
    return lines.length > 0;
  });
  assert.equal(tls.generation, 0);
  assert.deepEqual(
    lines.map(({ level, fields }) => [level, fields]),
    [['error', { backend: 'app.test', problem: `backendTLS.root: ${root.file} holds no certificate` }]],
  );
  assert.equal(await handshake(t, tls, ca.issue({ names: ['app.test'] })), 'trusted');
});

test('settings that cannot be used are an error at once', () => {
  const [one, other] = [certificate(), certificate()];
  const mixed = { cert: { inline: one.cert }, key: { inline: other.key } };
  assert.throws(() => material({ client: mixed }), /^Error: backendTLS\.key: .* belongs to another cert/);
  assert.throws(() => material({ root: { inline: 'no PEM' } }), {
    message: 'backendTLS.root: the text holds no certificate',
  });
  assert.throws(() => material({ groups: ['no-such-group'] }), /^Error: backendTLS: ./);
});
