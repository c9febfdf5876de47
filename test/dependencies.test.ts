/** Installed packages are the reviewed ones: pinned, checked by hash, and under a licence that allows our use. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

interface Locked {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly link?: boolean;
  readonly dev?: boolean;
  readonly hasInstallScript?: boolean;
}

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly allowScripts?: Readonly<Record<string, boolean>>;
}

const json = (path: string): unknown =>
  JSON.parse(readFileSync(new URL(`../${path}`, import.meta.url), 'utf8'));

const lock = json('package-lock.json') as { readonly packages: Readonly<Record<string, Locked>> };

/** Packages that come from a registry, by their place. */
const packages = Object.entries(lock.packages).filter(
  ([place, { link }]) => place.includes('node_modules/') && link !== true,
);

/** Licences of what runs in the gateway: none of them asks anything of those who use it but to be named. */
const permissive = new Set([
  'MIT',
  'ISC',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  '0BSD',
  'BlueOak-1.0.0',
  'PSF-2.0',
  'Unlicense',
  'CC0-1.0',
  'Zlib',
]);

/** `A AND B` needs both, `A OR B` one of them. */
const allowed = (licence: string): boolean =>
  licence
    .replaceAll(/[()]/g, '')
    .split(' AND ')
    .every((part) => part.split(' OR ').some((name) => permissive.has(name)));

test('every package is pinned and has a hash, and none comes from elsewhere than the registry', () => {
  assert.ok(packages.length > 100);
  for (const [place, { integrity, resolved, version }] of packages) {
    assert.match(integrity ?? '', /^sha512-/, place);
    // The registry is the one of whoever installs: the lock names none, and no other place either.
    assert.equal(resolved, undefined, `${place}: install with --omit-lockfile-registry-resolved`);
    assert.match(version ?? '', /^\d+\.\d+\.\d+/, place);
  }
  for (const path of [
    'package.json',
    'apps/echo/package.json',
    'apps/dev-idp/package.json',
    'ui/package.json',
  ]) {
    const { dependencies = {}, devDependencies = {} } = json(path) as Manifest;
    for (const [name, range] of Object.entries({ ...dependencies, ...devDependencies }))
      assert.match(range, /^(?:npm:[@\w/.-]+@)?\d+\.\d+\.\d+(?:-[\w.]+)?$/, `${path}: ${name}`);
  }
});

test('the runtime dependencies have permissive licences', () => {
  const others = packages.filter(([, { dev, license }]) => dev !== true && !allowed(license ?? 'none'));
  assert.deepEqual(
    others.map(([place, { license }]) => `${place}: ${license ?? 'none'}`),
    [],
  );
});

test('no package of the gateway runs a script when it is installed', () => {
  const scripted = packages.filter(
    ([, { dev, hasInstallScript }]) => dev !== true && hasInstallScript === true,
  );
  assert.deepEqual(
    scripted.map(([place]) => place),
    [],
  );
});

test('every image that the Dockerfile starts from is pinned by its digest', () => {
  const lines = readFileSync(new URL('../deploy/Dockerfile', import.meta.url), 'utf8').split('\n');
  const stages = new Set(['scratch']);
  const bases: string[] = [];
  for (const line of lines) {
    const [, base, stage] = /^FROM (\S+)(?: AS (\S+))?$/i.exec(line) ?? [];
    if (base === undefined) continue;
    if (!stages.has(base)) bases.push(base);
    if (stage !== undefined) stages.add(stage);
  }
  assert.ok(bases.length > 0);
  for (const base of bases) assert.match(base, /@sha256:[0-9a-f]{64}$/);
  // A frontend of the Dockerfile is an image, too.
  for (const line of lines) assert.doesNotMatch(line, /^# *syntax=(?!.*@sha256:)/);
});
