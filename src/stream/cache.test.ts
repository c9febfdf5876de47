import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { Cache } from './cache.ts';
import type { CachedModel } from './modelAssembler.ts';
import { nameOfText } from './parts.ts';

const kept = (secret = 'a private key'): CachedModel => ({
  version: nameOfText('version'),
  root: nameOfText('root'),
  parts: [{ secret }],
  endpoints: [['k', [{ host: '10.0.0.1', port: 1 }]]],
});

const gateway = 'ns/gw';

function stage(t: TestContext, parent = tmpdir()) {
  const top = mkdtempSync(join(parent, 'portcullis-cache-'));
  t.after(() => rmSync(top, { recursive: true, force: true }));
  const keyFile = join(top, 'key');
  writeFileSync(keyFile, randomBytes(32));
  const folder = join(top, 'cache');
  return { folder, keyFile, file: join(folder, 'model.portcullis') };
}

test('the cache returns what was written, sealed and readable only by its user', async (t) => {
  const { folder, keyFile, file } = stage(t);
  const cache = new Cache({ folder, keyFile, gateway });
  assert.equal(await cache.read(), undefined);
  await cache.write(kept('first'));
  await cache.write(kept());
  assert.deepEqual(await new Cache({ folder, keyFile, gateway }).read(), kept());
  assert.equal(readFileSync(file).includes('private'), false);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(folder), ['model.portcullis']);
});

test('with another key, or for another Gateway, it is not opened', async (t) => {
  const { folder, keyFile } = stage(t);
  await new Cache({ folder, keyFile, gateway }).write(kept());
  await assert.rejects(new Cache({ folder, keyFile, gateway: 'ns/other' }).read(), /another Gateway/);
  writeFileSync(keyFile, randomBytes(32));
  await assert.rejects(new Cache({ folder, keyFile, gateway }).read());
});

test('a file that is cut off, or of which any bit is another, is not taken', async (t) => {
  const { folder, keyFile, file } = stage(t);
  const cache = new Cache({ folder, keyFile, gateway });
  await cache.write(kept());
  const whole = readFileSync(file);
  for (let length = 0; length < whole.length; length += 7) {
    writeFileSync(file, whole.subarray(0, length));
    await assert.rejects(cache.read());
  }
  for (let at = 0; at < whole.length; at += 11) {
    const broken = Buffer.from(whole);
    broken.writeUInt8(broken.readUInt8(at) ^ 1, at);
    writeFileSync(file, broken);
    await assert.rejects(cache.read());
  }
  writeFileSync(file, whole);
  assert.deepEqual(await cache.read(), kept());
});

test('a cache file that other users can write is ignored', async (t) => {
  const { folder, keyFile, file } = stage(t);
  const cache = new Cache({ folder, keyFile, gateway });
  await cache.write(kept());
  chmodSync(file, 0o666);
  await assert.rejects(cache.read(), /other users can/);
});

const tmpfs = 0x01021994;

test('without a key nothing is kept on a disk', { skip: statfsSync(tmpdir()).type === tmpfs }, (t) => {
  const { folder } = stage(t);
  assert.throws(() => new Cache({ folder, gateway }), /give a key/);
});

test('a key must be worth the name', (t) => {
  const { folder, keyFile } = stage(t);
  writeFileSync(keyFile, 'short');
  assert.throws(() => new Cache({ folder, keyFile, gateway }), /shorter than 32 bytes/);
  assert.throws(() => new Cache({ folder, keyFile: `${keyFile}.none`, gateway }), /ENOENT/);
});

test('in memory it is kept without a key', { skip: !existsSync('/dev/shm') }, async (t) => {
  const { folder, keyFile, file } = stage(t, '/dev/shm');
  const cache = new Cache({ folder, gateway });
  await cache.write(kept());
  assert.deepEqual(await cache.read(), kept());
  // A proxy that has got a key accepts only a cache that was sealed with it.
  await assert.rejects(new Cache({ folder, keyFile, gateway }).read(), /has another key/);
  for (const content of ['', 'portcullis 1 plain ns/gw\n', 'portcullis 1 plain ns/gw\n{"version":1}']) {
    writeFileSync(file, content);
    await assert.rejects(cache.read());
  }
});

test('a failed write leaves the previous file, and no temporary file', async (t) => {
  const { folder, keyFile, file } = stage(t);
  const cache = new Cache({ folder, keyFile, gateway });
  await cache.write(kept());
  const before = readFileSync(file);
  const endless: Record<string, unknown> = {};
  endless['self'] = endless;
  await assert.rejects(cache.write({ ...kept(), parts: [endless] }));
  rmSync(file);
  // A folder of the name stands in the way of the rename.
  mkdirSync(join(file, 'x'), { recursive: true });
  await assert.rejects(cache.write(kept()));
  assert.deepEqual(readdirSync(folder), ['model.portcullis']);
  rmSync(file, { recursive: true });
  writeFileSync(file, before, { mode: 0o600 });
  assert.deepEqual(await cache.read(), kept());
});
