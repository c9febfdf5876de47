import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClientRow } from './client.ts';
import { fetchPackage } from './npm.ts';
import { printedJson } from './program.ts';

/** The command line of `mcporter`, which has no command for prompts. @param home gets its files */
export const mcporter = (home: string): ClientRow => {
  const program = join(fetchPackage('mcporter'), 'dist/cli.js');
  return {
    name: 'mcporter',
    cannot: ['prompt'],
    async visit({ url, token, tool, message, resource }) {
      const config = join(home, 'mcporter.json');
      const headers = { Authorization: `Bearer ${token}` };
      writeFileSync(
        config,
        JSON.stringify({ mcpServers: { gateway: { baseUrl: url, headers } }, imports: [] }),
      );
      const run = (...args: string[]): Promise<unknown> =>
        printedJson(process.execPath, [program, '--config', config, ...args], { HOME: home });
      const { tools } = (await run('list', 'gateway', '--json')) as { tools: { name: string }[] };
      const called = await run('call', `gateway.${tool}`, `message=${message}`, '--output', 'json');
      const read = await run('resource', 'gateway', resource, '--output', 'json');
      return {
        tools: tools.map(({ name }) => name),
        call: (called as { content: { text: string }[] }).content[0]!.text,
        resource: (read as { contents: { text: string }[] }).contents[0]!.text,
      };
    },
  };
};
