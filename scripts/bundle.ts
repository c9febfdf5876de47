/**
 * Bundles the gateway with the packages that it runs on:
 *
 *   node scripts/bundle.ts FOLDER [--without-idp]
 *
 * FOLDER gets `dist/` (the program, a file for each worker and thread, and parts that load on first use),
 * `dist/packages.json` (the bundled packages, each as name@version) and `THIRD-PARTY-LICENSES`. Needs `npm ci`.
 */
import { build, type Metafile } from 'esbuild';
import { existsSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

interface Manifest {
  readonly name?: string;
  readonly version?: string;
  readonly license?: string;
  readonly homepage?: string;
  readonly author?: string | { readonly name: string };
}

interface Bundled {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
  readonly folder: string;
  /** Its files that are in the bundle. */
  readonly files: string[];
}

const root = resolve(import.meta.dirname, '..');
const idp = '@portcullis/dev-idp';
/** The launcher refuses an older Node (`engines` of package.json). */
const target = 'node22.18';

/**
 * The programs of processes and threads. A file names such a program as `'./x.ts' : './x.js'`: beside it, as a source
 * or compiled. All output is in one folder, so that the compiled name is true for every file of the bundle.
 * @returns sources by the name of their output
 */
function programs(): Readonly<Record<string, string>> {
  const found: Record<string, string> = { cli: 'src/cli/index.ts' };
  for (const file of globSync('src/**/*.ts', { cwd: root })) {
    if (/\.(?:test|testing)\.ts$/.test(file)) continue;
    for (const [, source = '', output = ''] of readFileSync(join(root, file), 'utf8').matchAll(
      /'\.\/(\w+)\.ts'\s*:\s*'\.\/(\w+)\.js'/g,
    )) {
      if (source !== output || output in found) throw new Error(`${file}: two programs are named ${output}`);
      found[output] = join(dirname(file), `${source}.ts`);
    }
  }
  return found;
}

/**
 * Throws where our code loads a package of the older format on its first use: esbuild finds the names of such a package
 * only for an `import` at the top of a file, and makes `undefined` of them elsewhere.
 */
function refuseNameless({ inputs }: Metafile): void {
  for (const [file, { imports }] of Object.entries(inputs)) {
    if (file.includes('node_modules/')) continue;
    const nameless = imports.find(
      ({ kind, path }) => kind === 'dynamic-import' && inputs[path]?.format === 'cjs',
    );
    if (nameless !== undefined)
      throw new Error(`${file}: load a file of our own that imports ${nameless.path} at its top`);
  }
}

/** The packages whose code is in a bundle, by name and version. Throws where one has no name, version or licence. */
function packagesOf({ outputs }: Metafile): readonly Bundled[] {
  const found = new Map<string, Bundled>();
  for (const { inputs } of Object.values(outputs))
    for (const [input, { bytesInOutput }] of Object.entries(inputs)) {
      if (bytesInOutput === 0 || !input.includes('node_modules/')) continue;
      const one = packageOf(dirname(join(root, input)));
      const key = `${one.name}@${one.version}`;
      if (!found.has(key)) found.set(key, one);
      found.get(key)?.files.push(join(root, input));
    }
  return [...found.keys()].toSorted().map((key) => found.get(key) as Bundled);
}

/** The package that a folder is part of. Packages also have manifests without a name, which only say `type`. */
function packageOf(folder: string): Bundled {
  const path = join(folder, 'package.json');
  if (!existsSync(path)) return packageOf(dirname(folder));
  const { name, version, license } = JSON.parse(readFileSync(path, 'utf8')) as Manifest;
  if (name === undefined || version === undefined) return packageOf(dirname(folder));
  if (license === undefined) throw new Error(`${name}@${version} names no licence`);
  return { name, version, licence: license, folder, files: [] };
}

/** The comments about copyright at the top of files, each once. */
const headers = (files: readonly string[]): string[] => [
  ...new Set(
    files
      .map(
        (file) =>
          /^(?:\/\/.*\n)+/
            .exec(readFileSync(file, 'utf8'))?.[0]
            .replaceAll(/^\/\/ ?/gm, '')
            .trim() ?? '',
      )
      .filter((text) => text.includes('Copyright')),
  ),
];

/** The licence of a package that brings no text of it. Throws for a licence that is not known here. */
function standardText(licence: string, author = 'the authors'): string {
  // Each package whose licence is a choice or a sum has texts of its own, or names this one.
  if (licence.includes('Apache-2.0')) return 'The text of the Apache License 2.0 is in the file LICENSE.';
  if (licence === 'Unlicense') return 'In the public domain: its licence is at https://unlicense.org.';
  if (licence !== 'MIT') throw new Error(`there is no text of the licence ${licence}`);
  const mit = readFileSync(join(root, 'node_modules/zod/LICENSE'), 'utf8');
  return mit
    .slice(mit.indexOf('\n'))
    .trim()
    .replace(/^Copyright .*$/m, `Copyright (c) ${author}`);
}

/** The text of `THIRD-PARTY-LICENSES`: for each package its licence and notices, as its authors wrote them. */
function licenceTexts(packages: readonly Bundled[]): string {
  const parts = packages.map(({ name, version, licence, folder, files }) => {
    const texts = readdirSync(folder)
      .filter((file) => /^(?:licen[cs]e|copying|notice)/i.test(file))
      .toSorted()
      .map((file) => readFileSync(join(folder, file), 'utf8').trim());
    const { homepage, author } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
    if (texts.length === 0)
      texts.push(...headers(files), standardText(licence, typeof author === 'object' ? author.name : author));
    const title = [
      `${name} ${version}`,
      `License: ${licence}`,
      ...(homepage === undefined ? [] : [homepage]),
    ];
    return [title.join('\n'), ...texts].join('\n\n');
  });
  const rule = `\n\n${'-'.repeat(80)}\n\n`;
  return `The files in dist/ contain code of these packages.${rule}${parts.join(rule)}\n`;
}

async function bundle(folder: string, withIdp: boolean): Promise<void> {
  const outdir = join(folder, 'dist');
  rmSync(outdir, { recursive: true, force: true });
  const { metafile, warnings } = await build({
    absWorkingDir: root,
    entryPoints: Object.entries(programs()).map(([out, source]) => ({ in: source, out })),
    outdir,
    bundle: true,
    splitting: true,
    metafile: true,
    format: 'esm',
    platform: 'node',
    target,
    chunkNames: 'part-[hash]',
    // Names stay whole: the stack of an error says where it was thrown, and oidc-provider finds the lifetime of a token
    // by the name of its class, which `minifySyntax` would remove.
    minifySyntax: false,
    minifyWhitespace: false,
    legalComments: 'none',
    ...(withIdp ? {} : { external: [idp] }),
    // Packages in the older format of modules need the two.
    banner: {
      js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url), __dirname = import.meta.dirname;",
    },
    logLevel: 'warning',
  });
  if (warnings.length > 0) throw new Error(`esbuild had ${String(warnings.length)} warnings`);
  refuseNameless(metafile);
  const packages = packagesOf(metafile);
  const names = packages.map(({ name, version }) => `${name}@${version}`);
  writeFileSync(join(outdir, 'packages.json'), `${JSON.stringify(names, undefined, 2)}\n`);
  writeFileSync(join(folder, 'THIRD-PARTY-LICENSES'), licenceTexts(packages));
  const bytes = Object.values(metafile.outputs).reduce((sum, output) => sum + output.bytes, 0);
  console.error(
    `${basename(outdir)}: ${(bytes / 1e6).toFixed(1)} MB with ${String(packages.length)} packages`,
  );
}

const { values, positionals } = parseArgs({
  options: { 'without-idp': { type: 'boolean', default: false } },
  allowPositionals: true,
});
const [folder] = positionals;
if (folder === undefined) throw new Error('usage: node scripts/bundle.ts FOLDER [--without-idp]');
mkdirSync(folder, { recursive: true });
await bundle(resolve(folder), !values['without-idp']);
