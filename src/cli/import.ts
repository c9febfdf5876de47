import { UsageError, type Command } from './command.ts';
import { exitCode } from './exitCode.ts';
import { finish, grantsOf, setupFlags } from './init.ts';
import { printable } from './printable.ts';

export const importCommand: Command = {
  summary: 'make a configuration of the MCP servers of a client: mcp.json, claude, vscode or supergateway',
  usage: 'mcp.json|claude|vscode|supergateway FILE',
  flags: setupFlags,
  positionals: 2,
  async run(flags, [kind, file], terminal) {
    const { clientFiles } = await import('./setup/clientFile.ts');
    const { readRegularFile } = await import('../files/index.ts');
    const read = kind !== undefined && Object.hasOwn(clientFiles, kind) ? clientFiles[kind] : undefined;
    if (kind === undefined || read === undefined)
      throw new UsageError(`expected one of ${Object.keys(clientFiles).join(', ')}, and a file`);
    if (file === undefined) throw new UsageError(`expected the file of ${kind}`);
    let text: string;
    try {
      text = readRegularFile(file).toString();
    } catch (error) {
      terminal.err(`portcullis: ${(error as Error).message}\n`);
      return exitCode.failed;
    }
    const { servers, left } = read(text);
    if (servers.length === 0) throw new UsageError(`${file} has no MCP server that the gateway can serve`);
    const code = await finish(
      flags,
      servers,
      await grantsOf(flags, servers),
      `portcullis import ${kind}`,
      terminal,
    );
    for (const line of left) terminal.err(`portcullis: not taken over: ${printable(line)}\n`);
    return code;
  },
};
