/** The clients of the Python packages `mcp` and `fastmcp`. */
import { fileURLToPath } from 'node:url';
import { installPython } from '../e2e/python.testing.ts';
import type { ClientRow, Seen } from './client.ts';
import { printedJson } from './program.ts';

const packages = [
  { name: 'mcp', requirement: 'mcp==2.3.0', script: 'mcp_client.py' },
  { name: 'fastmcp', requirement: 'fastmcp==4.1.2', script: 'fastmcp_client.py' },
] as const;
const modes = { legacy: 'legacy', auto: 'auto', modern: '2026-07-28' } as const;

/** Installs the packages where they are missing. */
export const pythonClients = (): readonly ClientRow[] =>
  packages.flatMap(({ name, requirement, script }) => {
    const installed = installPython(requirement);
    const path = fileURLToPath(new URL(`python/${script}`, import.meta.url));
    return Object.entries(modes).map(
      ([era, mode]) =>
        ({
          name: `Python ${name}, ${era}`,
          missing: 'missing' in installed && installed.missing,
          visit: async (wanted) => {
            const env = {
              PYTHONPATH: 'folder' in installed ? installed.folder : '',
              FASTMCP_CHECK_FOR_UPDATES: 'off',
              WANTED: JSON.stringify({ ...wanted, mode }),
            };
            return (await printedJson('python3', ['-s', path], env)) as Seen;
          },
        }) satisfies ClientRow,
    );
  });
