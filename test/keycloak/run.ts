/**
 * `npm run test:keycloak`: logs clients in at a real Keycloak. It fetches the distribution from Maven Central, once, into
 * `.cache/`. That needs Maven and a JDK.
 */
import { spawnSync, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { version } from './keycloak.testing.ts';

const root = resolve(import.meta.dirname, '../..');
const cache = join(root, '.cache');
const folder = join(cache, `keycloak-${version}`);

if (!existsSync(folder)) {
  mkdirSync(cache, { recursive: true });
  // Filled under another name, so that a run that is broken off leaves no half folder behind.
  const filling = mkdtempSync(join(cache, 'filling-'));
  try {
    console.log(`fetching Keycloak ${version}, some 180 MB`);
    const artifact = `org.keycloak:keycloak-quarkus-dist:${version}:zip`;
    const copy = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy';
    execFileSync('mvn', ['-q', '-B', copy, `-Dartifact=${artifact}`, `-DoutputDirectory=${filling}`], {
      cwd: filling,
      stdio: 'inherit',
    });
    execFileSync('jar', ['xf', `keycloak-quarkus-dist-${version}.zip`], { cwd: filling, stdio: 'inherit' });
    renameSync(join(filling, `keycloak-${version}`), folder);
  } finally {
    rmSync(filling, { recursive: true, force: true });
  }
}
const { status } = spawnSync(
  process.execPath,
  ['--test', '--test-timeout=600000', join(import.meta.dirname, 'logins.keycloak.ts')],
  { stdio: 'inherit', env: { ...process.env, PORTCULLIS_KEYCLOAK: folder } },
);
process.exitCode = status ?? 1;
