/**
 * Prints the bill of materials (CycloneDX) of exactly the packages that ship:
 *
 *   node scripts/sbom.ts dist/packages.json ui/dist/licenses.txt
 *                                              of the published package, by the lists of its bundle and its console
 *   node scripts/sbom.ts FOLDER [FOLDER ...]   of an image, by the folders that its layers are made of
 *
 * An image's bill also names its Node with the libraries built into it, and the system's libraries with their packages.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';

interface Component {
  readonly 'bom-ref': string;
  readonly type: string;
  readonly name: string;
  readonly version?: string;
  readonly purl?: string;
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
  readonly components?: readonly Component[];
}

interface Bill {
  serialNumber?: string;
  readonly metadata: { timestamp?: string; component: { name: string } };
  components: readonly Component[];
  dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

interface Manifest {
  readonly name?: string;
  readonly version?: string;
}

const root = resolve(import.meta.dirname, '..');
const json = <T>(path: string): T => JSON.parse(readFileSync(path, 'utf8')) as T;
const reference = ({ name = '', version = '' }: Manifest): string => `${name}@${version}`;

/** `name@version` of every package in the bundle below a folder or in its `node_modules`, and of workspaces beside. */
const installedPackages = (folder: string): string[] =>
  [
    ...globSync('app/node_modules/{*,@*/*}/package.json', { cwd: folder }),
    ...globSync('app/node_modules/**/node_modules/{*,@*/*}/package.json', { cwd: folder }),
    ...globSync('app/apps/*/package.json', { cwd: folder }),
  ]
    .map((path) => reference(json<Manifest>(join(folder, path))))
    .concat(
      globSync('app/{dist/packages.json,ui/dist/licenses.txt}', { cwd: folder }).flatMap((path) =>
        bundled(join(folder, path)),
      ),
    );

/** `name@version` of every package in a bundle: by the list of the bundle, or by the licences of the built console. */
const bundled = (path: string): string[] =>
  path.endsWith('.json')
    ? json<string[]>(path)
    : Array.from(
        readFileSync(path, 'utf8').matchAll(/^## (\S+) - (\S+) \(/gm),
        ([, name = '', version = '']) => `${name}@${version}`,
      );

const hashes = (path: string): Component['hashes'] => [
  { alg: 'SHA-256', content: createHash('sha256').update(readFileSync(path)).digest('hex') },
];

/** The Node of an image, and the libraries that are built into it. */
const nodeOf = (path: string): Component => {
  const versions = JSON.parse(
    execFileSync(path, ['-p', 'JSON.stringify(process.versions)'], { encoding: 'utf8' }),
  ) as Readonly<Record<string, string>>;
  const { node: version = '', ...inside } = versions;
  return {
    'bom-ref': `node@${version}`,
    type: 'application',
    name: 'node',
    version,
    purl: `pkg:generic/node@${version}`,
    hashes: hashes(path) ?? [],
    components: Object.entries(inside).map(([name, one]) => ({
      'bom-ref': `node@${version}/${name}@${one}`,
      type: 'library',
      name,
      version: one,
    })),
  };
};

/** The Debian package that a file of this machine comes from; undefined where dpkg does not know. */
const debianPackage = (path: string): Component | undefined => {
  const ask = (program: string, ...args: string[]): string =>
    execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  // Merged systems list some files under /lib and some under /usr/lib.
  for (const place of [path, path.startsWith('/usr/') ? path.slice('/usr'.length) : `/usr${path}`])
    try {
      const [owner = ''] = ask('dpkg-query', '-S', place).split(': ');
      const [name = '', version = '', architecture = ''] = ask(
        'dpkg-query',
        '-W',
        '-f=${Package}\n${Version}\n${Architecture}',
        owner,
      ).split('\n');
      const purl = `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${architecture}`;
      return { 'bom-ref': purl, type: 'library', name, version, purl };
    } catch {
      // There is no dpkg, or another spelling of the path is the listed one.
    }
  return undefined;
};

/** The contents of an image's runtime layer beside packages of npm. */
const systemOf = (folder: string): Component[] => {
  const node = join(folder, 'usr/bin/node');
  if (!existsSync(node)) return [];
  const libraries = globSync('{lib,lib64,usr/lib,usr/lib64}/**/*.so*', { cwd: folder })
    .filter((path) => statSync(join(folder, path)).isFile())
    .toSorted();
  const packages = libraries.map((path) => debianPackage(`/${path}`)).filter((one) => one !== undefined);
  return [
    nodeOf(node),
    ...libraries.map((path) => ({
      'bom-ref': `file:/${path}`,
      type: 'file',
      name: `/${path}`,
      hashes: hashes(join(folder, path)) ?? [],
    })),
    ...new Map(packages.map((one) => [one['bom-ref'], one])).values(),
  ];
};

const places = process.argv.slice(2);
if (places.length === 0) throw new Error('usage: node scripts/sbom.ts LIST ... | FOLDER ...');
const folders = places.filter((place) => statSync(place).isDirectory());
const shipped = new Set(
  places.flatMap((place) => (folders.includes(place) ? installedPackages(place) : bundled(place))),
);

const bill = JSON.parse(
  execFileSync('npm', ['sbom', '--sbom-format=cyclonedx'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  }),
) as Bill;
const known = new Set(bill.components.map((component) => component['bom-ref']));
const unknown = [...shipped].filter((one) => !known.has(one));
if (unknown.length > 0) throw new Error(`npm does not know of ${unknown.join(', ')}: npm ci`);
// Without the two, equal contents make an equal bill.
delete bill.serialNumber;
delete bill.metadata.timestamp;
bill.metadata.component.name = 'portcullis';
bill.components = [
  ...bill.components.filter((component) => shipped.has(component['bom-ref'])),
  ...folders.flatMap(systemOf),
];
bill.dependencies = bill.dependencies
  .filter(({ ref }) => shipped.has(ref) || ref.startsWith('portcullis@'))
  .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => shipped.has(one)) }));
console.log(JSON.stringify(bill, undefined, 2));
