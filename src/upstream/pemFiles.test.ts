import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { certificate } from '../proxy/certificates.testing.ts';
import { until } from '../until.testing.ts';
import { PemFiles, pemCertificates, pemText } from './pemFiles.ts';

const folder = mkdtempSync(join(tmpdir(), 'portcullis-pem-'));
after(() => rmSync(folder, { recursive: true }));

function write(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
  return file;
}

test('a change of any of the files is reported once', async () => {
  const [cert, key] = [write('a.crt', 'one'), write('a.key', 'one')];
  const files = new PemFiles([{ file: cert }, undefined, { inline: 'text' }, { file: key }]);
  assert.equal(await files.changed(), false);
  write('a.key', 'two');
  await until('the change is seen', () => files.changed());
  assert.equal(await files.changed(), false);
});

test('settings without files never change', async () => {
  assert.equal(await new PemFiles([{ inline: 'text' }, undefined]).changed(), false);
});

test('a file that cannot be read is an error that names the field and the file', () => {
  const missing = join(folder, 'missing.pem');
  assert.throws(() => pemText({ file: missing }, 'tls.cert'), {
    message: new RegExp(`^tls\\.cert: ${missing}: .*ENOENT`),
  });
  const directory = join(folder, 'directory');
  mkdirSync(directory);
  assert.throws(() => pemText({ file: directory }, 'tls.key'), /^Error: tls\.key: .*directory: ./);
});

test('text without a certificate is refused where a certificate is wanted', () => {
  const { cert, key } = certificate();
  assert.equal(pemCertificates({ inline: cert }, 'tls.cert'), cert);
  assert.throws(() => pemCertificates({ inline: key }, 'tls.cert'), {
    message: 'tls.cert: the text holds no certificate',
  });
  const file = write('key.pem', key);
  assert.throws(() => pemCertificates({ file }, 'tls.cert'), {
    message: `tls.cert: ${file} holds no certificate`,
  });
});
