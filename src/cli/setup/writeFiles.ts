import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { configurationSchema } from '../../config/index.ts';
import { UsageError, type Terminal } from '../command.ts';
import { clientSnippets } from './clientSnippets.ts';
import { configurationText, environmentText, schemaName } from './configurationText.ts';
import type { Setup } from './setup.ts';

export interface Files {
  readonly folder: string;
  /** Replace files that are there. */
  readonly force: boolean;
  /** The command that writes them, for the first line of the configuration. */
  readonly command: string;
}

export const configurationName = 'portcullis.yaml';
const environmentName = '.env';
const clientsName = 'portcullis-clients.md';

/**
 * Writes the configuration of a set-up, `.env` where it has secrets, and the snippets for clients; all or none.
 * @returns the flags that run the gateway on them
 * @throws UsageError where a file is there already
 */
export function writeFiles(
  setup: Setup,
  { folder, force, command }: Files,
  terminal: Terminal,
): readonly string[] {
  const environment = environmentText(setup);
  const files = [
    { name: configurationName, text: configurationText(setup, command), mode: 0o644 },
    // Only its owner may read the secrets.
    ...(environment === undefined ? [] : [{ name: environmentName, text: environment, mode: 0o600 }]),
    { name: schemaName, text: configurationSchema(), mode: 0o644 },
    { name: clientsName, text: clientSnippets(setup), mode: 0o644 },
  ];
  mkdirSync(folder, { recursive: true });
  const there = files.filter(({ name }) => !force && existsSync(join(folder, name)));
  if (there.length > 0)
    throw new UsageError(
      `${there.map(({ name }) => join(folder, name)).join(', ')} exists already; --force replaces it`,
    );
  for (const { name, text, mode } of files) {
    // A file that is replaced must not keep its mode, or lead elsewhere as a link.
    if (force) rmSync(join(folder, name), { force: true });
    writeFileSync(join(folder, name), text, { mode, flag: 'wx' });
    terminal.out(`wrote ${join(folder, name)}\n`);
  }
  return [
    '-f',
    join(folder, configurationName),
    ...(environment === undefined ? [] : ['--env-file', join(folder, environmentName)]),
  ];
}
