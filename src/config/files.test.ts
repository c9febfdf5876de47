import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { eachPart, fileMarkOf } from '../schema/index.ts';
import { missingFiles } from './files.ts';
import { loadText, withMissingCommands, type LoadResult } from './load.ts';
import { renderProblem } from './problem.ts';
import { documentSchema } from './schema/document.ts';

const folder = mkdtempSync(join(tmpdir(), 'portcullis-named-'));
after(() => rmSync(folder, { recursive: true }));
const pathOf = (name: string): string => join(folder, name);

/** Fields whose words speak of files and that name none: they are about something else. */
const aboutOthers = new Set<string>();

test('every field whose description speaks of a file, a program or a folder is marked as one that names it', () => {
  const marked = new Set<string>();
  const suspects = new Set<string>();
  eachPart(documentSchema, (path, part) => {
    const name = path.join('.');
    const mark = fileMarkOf(part);
    if (mark !== undefined) marked.add(name);
    const { description = '' } =
      (part as { readonly meta?: () => { description?: string } | undefined }).meta?.() ?? {};
    const last = path.at(-1) ?? '';
    if (
      /^(?:file|cert|key|cmd|cwd)$/.test(last) &&
      /\b(?:file|program|directory|folder)\b/i.test(description)
    )
      suspects.add(name);
    return true;
  });
  const below = (name: string): boolean =>
    [...marked].some((one) => one === name || one.startsWith(`${name}.`));
  assert.deepEqual(
    [...suspects].filter((name) => !below(name) && !aboutOthers.has(name)),
    [],
  );
  for (const end of [
    '.jwks.file',
    '.htpasswd.file',
    '.tls.cert',
    '.tls.key',
    '.tls.root',
    '.stdio.cmd',
    '.stdio.cwd',
  ])
    assert.ok(
      [...marked].some((name) => name.endsWith(end)),
      end,
    );
});

const configuration = (): string => `
binds:
- port: 1
  listeners:
  - protocol: HTTPS
    tls: { cert: ${pathOf('cert')}, key: ${pathOf('key')}, root: ${pathOf('ca')} }
    routes:
    - policies:
        basicAuth: { htpasswd: { file: ${pathOf('users')} } }
        jwtAuth: { issuer: i, jwks: { file: ${pathOf('keys')} } }
        backendAuth: { key: { file: ${pathOf('secret')} } }
      backends:
      - host: https://a.test:1
        policies: { backendTLS: { root: ${pathOf('backend-ca')} } }
    - matches: [{ path: { pathPrefix: /mcp } }]
      backends:
      - mcp:
          targets:
          - { name: a, stdio: { cmd: server-a, cwd: ${pathOf('work')}, env: { PATH: bin } } }
`;

const ok = (result: LoadResult): Extract<LoadResult, { ok: true }> => {
  assert.ok(result.ok, result.ok ? '' : result.problems.map(renderProblem).join('\n'));
  return result;
};

test('every missing file and program is found, with its place', () => {
  const { named, files } = ok(loadText(configuration(), { file: 'x', env: {} }));
  const missing = (): string[] =>
    missingFiles(named, { PATH: '/usr/bin' }).map(
      ({ path, message }) => `${path}: ${message.replace(folder, '')}`,
    );
  const listener = 'binds[0].listeners[0]';
  assert.deepEqual(missing(), [
    `${listener}.tls.cert: /cert: there is no such file`,
    `${listener}.tls.key: /key: there is no such file`,
    `${listener}.tls.root: /ca: there is no such file`,
    `${listener}.routes[0].policies.basicAuth.htpasswd.file: /users: there is no such file`,
    `${listener}.routes[0].policies.jwtAuth.jwks.file: /keys: there is no such file`,
    `${listener}.routes[0].policies.backendAuth.key.file: /secret: there is no such file`,
    `${listener}.routes[0].backends[0].policies.backendTLS.root: /backend-ca: there is no such file`,
    `${listener}.routes[1].backends[0].mcp.targets[0].stdio.cmd: server-a: there is no such program, or it may not be run`,
    `${listener}.routes[1].backends[0].mcp.targets[0].stdio.cwd: /work: there is no such file`,
  ]);
  for (const file of files) writeFileSync(file, 'x');
  mkdirSync(pathOf('work/bin'), { recursive: true });
  writeFileSync(pathOf('work/bin/server-a'), '#!/bin/sh\n');
  assert.equal(missing().length, 1, 'the program may not be run');
  chmodSync(pathOf('work/bin/server-a'), 0o755);
  assert.deepEqual(missing(), []);
});

test('the name of a file that holds a secret is no secret: logs and problems show it', () => {
  const { secrets } = ok(loadText(configuration(), { file: 'x', env: {} }));
  assert.deepEqual(
    secrets.values.filter((value) => value.startsWith(folder)),
    [],
  );
});

test('a certificate that stands in the configuration is no file', () => {
  const pem = '"-----BEGIN CERTIFICATE-----\\nx\\n-----END CERTIFICATE-----"';
  const text = configuration().replace(`cert: ${pathOf('cert')}`, `cert: ${pem}`);
  const { files } = ok(loadText(text, { file: 'x', env: {} }));
  assert.ok(!files.some((file) => file.includes('CERTIFICATE')));
});

test('while it runs a missing program is a warning, and a program along PATH is none', () => {
  const text = (cmd: string): string =>
    `config: {adminAddr: off}\nbinds: [{port: 1, listeners: [{routes: [{backends: [{mcp: {targets: [{name: a, stdio: {cmd: ${cmd}}}]}}]}]}]}]`;
  const warnings = (cmd: string): string[] => {
    const result = withMissingCommands(loadText(text(cmd), { file: 'x', env: {} }), {
      PATH: '/nowhere:/bin',
    });
    return ok(result).warnings.map(({ message }) => message);
  };
  assert.deepEqual(warnings('no-such-program'), [
    'no-such-program: there is no such program, or it may not be run',
  ]);
  assert.deepEqual(warnings('sh'), []);
  assert.deepEqual(warnings('/bin/sh'), []);
});
