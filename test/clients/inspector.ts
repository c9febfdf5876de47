import { fileURLToPath } from 'node:url';
import type { ClientRow } from './client.ts';
import { printedJson, runProgram, type Outcome } from './program.ts';

const launcher = fileURLToPath(
  new URL(
    '../../node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js',
    import.meta.url,
  ),
);

const commandLine = (url: string, token: string, args: readonly string[]): string[] => [
  launcher,
  '--cli',
  '--server-url',
  url,
  '--transport',
  'http',
  '--header',
  `Authorization: Bearer ${token}`,
  '--stored-auth-only',
  '--format',
  'json',
  ...args,
];

/** Runs the Inspector's command line once. @param home gets its settings and secrets */
export const inspect = (home: string, url: string, token: string, ...args: string[]): Promise<Outcome> =>
  runProgram(process.execPath, commandLine(url, token, args), { HOME: home });

/** @param era the value of `--protocol-era` */
export const inspectorIn = (home: string, era: 'legacy' | 'auto' | 'modern'): ClientRow => ({
  name: `MCP Inspector, ${era}`,
  async visit({ url, token, tool, message, resource, prompt }) {
    const ask = async (method: string, ...args: string[]): Promise<Record<string, unknown>> => {
      const all = ['--protocol-era', era, '--method', method, ...args];
      const printed = await printedJson(process.execPath, commandLine(url, token, all), { HOME: home });
      return (printed as { result: Record<string, unknown> }).result;
    };
    const { tools } = (await ask('tools/list')) as { tools: { name: string }[] };
    const called = await ask('tools/call', '--tool-name', tool, '--tool-arg', `message=${message}`);
    const read = await ask('resources/read', '--uri', resource);
    const got = await ask('prompts/get', '--prompt-name', prompt);
    return {
      tools: tools.map(({ name }) => name),
      call: (called['content'] as { text: string }[])[0]!.text,
      resource: (read['contents'] as { text: string }[])[0]!.text,
      prompt: (got['messages'] as { content: { text: string } }[])[0]!.content.text,
    };
  },
});
