import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { version } from '../version.ts';

/** Names of configurations that people give. */
const usual = ['portcullis.yaml', 'config.yaml'];

/** The text of `portcullis` without arguments. */
export function welcome(folder: string): string {
  const found = usual.find((name) => existsSync(join(folder, name)));
  const here =
    found === undefined ? 'This folder has no configuration.' : `This folder has a configuration, ${found}.`;
  const commands = [
    [`run -f ${found ?? 'FILE'}`, 'run the gateway'],
    ['init', 'write a configuration: asks for issuer, MCP servers and groups'],
    ['import mcp.json FILE', 'make a configuration of the MCP servers of a client'],
    ['idp', 'run an authorization server for trials'],
  ].map(([command = '', help = '']) => `  portcullis ${command.padEnd(24)}${help}\n`);
  return `portcullis ${version()}: a gateway for MCP servers and HTTP apps.

${here}
${commands.join('')}  ${'npm ci && npm run demo'.padEnd(35)}see all parts at work, in a clone of the repository

portcullis --help lists all commands.
`;
}
