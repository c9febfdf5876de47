/** The complete configurations under examples/. */
import { globSync, readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

export interface Example {
  /** From the root of the repository, such as `examples/mcp/federation.yaml`. */
  readonly path: string;
  /** The folder below examples/. */
  readonly folder: string;
  /** The name of the file without its extension; of the file `config.yaml`, that of its folder. */
  readonly name: string;
  /** The comment at its beginning. */
  readonly description: string;
  readonly text: string;
}

/** Whether a YAML file is a configuration of the gateway, and no other document that an example needs. */
const isConfiguration = (text: string): boolean => /^(?:binds|gateways|mcp):/m.test(text);

function descriptionOf(text: string): string {
  const lines = text.split('\n');
  const end = lines.findIndex((line) => !line.startsWith('#'));
  return lines
    .slice(0, end)
    .map((line) => line.replace(/^# ?/, ''))
    .filter((line) => !line.startsWith('yaml-language-server'))
    .join(' ');
}

/** All examples, in the order of their paths. */
export const examples = (): readonly Example[] =>
  globSync('examples/**/*.yaml', { cwd: root })
    .sort()
    .map((path) => ({ path, text: readFileSync(`${root}/${path}`, 'utf8') }))
    .filter(({ text }) => isConfiguration(text))
    .map(({ path, text }) => {
      const folder = dirname(path).replace(/^examples\//, '');
      const name = basename(path, '.yaml');
      return {
        path,
        folder,
        name: name === 'config' ? folder : name,
        description: descriptionOf(text),
        text,
      };
    });
