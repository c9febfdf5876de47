import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { consolePackages } from '../support/consolePackages.ts';

const run = promisify(execFile);
const script = fileURLToPath(new URL('../../deploy/image.sh', import.meta.url));

interface Blob {
  readonly digest: string;
  readonly size: number;
}
interface Config {
  readonly config: { readonly User: string; readonly Entrypoint: readonly [string, ...string[]] };
  readonly rootfs: { readonly diff_ids: readonly string[] };
}

const skip = process.platform !== 'linux' && 'images are made of the programs of a Linux machine';

describe('the image', { skip }, () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'portcullis-image-'));
    await run(script, [join(folder, 'image.tar'), 'example.test/portcullis:now']);
    await run('mkdir', [join(folder, 'oci'), join(folder, 'root')]);
    await run('tar', ['-C', join(folder, 'oci'), '-xf', join(folder, 'image.tar')]);
  });
  after(async () => await rm(folder, { recursive: true, force: true }));

  const read = async (path: string): Promise<Buffer> => await readFile(join(folder, 'oci', path));
  const blob = async ({ digest, size }: Blob): Promise<Buffer> => {
    const [, hex = ''] = digest.split(':');
    const content = await read(`blobs/sha256/${hex}`);
    assert.equal(content.length, size);
    assert.equal(createHash('sha256').update(content).digest('hex'), hex);
    return content;
  };
  const json = async <T>(one: Blob): Promise<T> => JSON.parse((await blob(one)).toString()) as T;

  const manifest = async (): Promise<{ readonly config: Blob; readonly layers: readonly Blob[] }> => {
    const { manifests } = JSON.parse((await read('index.json')).toString()) as {
      readonly manifests: readonly [Blob & { readonly annotations: Readonly<Record<string, string>> }];
    };
    assert.equal(manifests[0].annotations['io.containerd.image.name'], 'example.test/portcullis:now');
    return await json(manifests[0]);
  };

  test('each entry of the archive matches its digest', async () => {
    const { config, layers } = await manifest();
    const { rootfs } = await json<Config>(config);
    assert.equal(layers.length, 2);
    for (const [index, layer] of layers.entries()) {
      await blob(layer);
      const { stdout } = await run('sh', [
        '-c',
        `gzip -dc ${join(folder, 'oci', 'blobs', 'sha256', layer.digest.slice(7))} | sha256sum | cut -c1-64`,
      ]);
      assert.equal(rootfs.diff_ids[index], `sha256:${stdout.trim()}`);
    }
  });

  test('the image runs as any user, with no shell, no sources and no tests', async () => {
    const { config, layers } = await manifest();
    assert.equal((await json<Config>(config)).config.User, '65532:65532');
    const files: string[] = [];
    for (const { digest } of layers) {
      const { stdout } = await run('tar', ['-tzf', join(folder, 'oci', 'blobs', 'sha256', digest.slice(7))], {
        maxBuffer: 64 << 20,
      });
      files.push(...stdout.split('\n'));
    }
    assert.ok(files.includes('./app/dist/cli.js'));
    for (const file of files)
      assert.doesNotMatch(file, /\/(?:ba|da)?sh$|^\.\/app\/src|\.test\.|\/(?:typescript|oxlint)\//);
  });

  test('its bill of materials names exactly the packages in it, its Node and its libraries', async () => {
    const { layers } = await manifest();
    const unpacked = join(folder, 'shipped');
    await run('mkdir', [unpacked]);
    for (const { digest } of layers)
      await run('tar', ['-C', unpacked, '-xzf', join(folder, 'oci', 'blobs', 'sha256', digest.slice(7))]);
    const bill = JSON.parse(await readFile(join(unpacked, 'app/sbom.cdx.json'), 'utf8')) as {
      readonly components: readonly {
        readonly 'bom-ref': string;
        readonly type: string;
        readonly purl?: string;
      }[];
    };
    // Its program is one bundle: no other package is beside it.
    assert.deepEqual(globSync('**/node_modules', { cwd: unpacked }), []);
    const packages = JSON.parse(
      readFileSync(join(unpacked, 'app/dist/packages.json'), 'utf8'),
    ) as readonly string[];
    assert.ok(packages.length > 50, `${String(packages.length)} packages in the image`);
    // The authorization server for trials is not in the image of the gateway.
    assert.ok(!packages.some((name) => name.startsWith('oidc-provider@')));
    const listed = bill.components.filter(({ purl = '' }) => purl.startsWith('pkg:npm/'));
    const shown = consolePackages(join(unpacked, 'app/ui/dist/licenses.txt'));
    assert.deepEqual(
      listed.map((component) => component['bom-ref']).toSorted(),
      [...new Set([...packages, ...shown])].toSorted(),
    );
    const libraries = globSync('{lib,lib64,usr/lib}/**/*.so*', { cwd: unpacked }).map(
      (path) => `file:/${path}`,
    );
    assert.ok(libraries.length > 0);
    const files = bill.components
      .filter(({ type }) => type === 'file')
      .map((component) => component['bom-ref']);
    assert.deepEqual(files.toSorted(), libraries.toSorted());
    assert.ok(bill.components.some((component) => component['bom-ref'] === `node@${process.versions.node}`));
  });

  const notRoot = process.getuid?.() !== 0 && 'only root may change its root';
  test('it starts from nothing but its own files', { skip: notRoot }, async () => {
    const { config, layers } = await manifest();
    for (const { digest } of layers)
      await run('tar', [
        '-C',
        join(folder, 'root'),
        '-xzf',
        join(folder, 'oci', 'blobs', 'sha256', digest.slice(7)),
      ]);
    const { Entrypoint } = (await json<Config>(config)).config;
    const { stdout } = await run(
      'chroot',
      ['--userspec=65532:65532', join(folder, 'root'), ...Entrypoint, '--version'],
      { env: { PATH: process.env['PATH'] } },
    );
    assert.match(stdout, /^portcullis \d/);
  });
});
