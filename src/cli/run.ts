import { secretVariables } from '../model/index.ts';
import { check } from './check.ts';
import type { Command, Terminal } from './command.ts';
import { leaveBlockWithout } from './environmentBlock.ts';
import { configurationFlags, givenConfiguration, type Given } from './givenConfiguration.ts';
import { operatorPortFlags, operatorPorts } from './operatorPorts.ts';
import { ownProgram } from './ownProgram.ts';
import { serveUntilStopped } from './serve.ts';

export const run: Command = {
  summary: 'run the gateway (the default command)',
  usage: '-f FILE | -c YAML',
  flags: {
    ...configurationFlags,
    ...operatorPortFlags,
    'pid-file': {
      type: 'string',
      value: 'FILE',
      help: 'write the process id to this file; an upgrade writes its new process id',
    },
    'validate-only': { type: 'boolean', help: 'check the configuration and exit, like `portcullis check`' },
  },
  positionals: 0,
  async run(flags, positionals, terminal) {
    if (flags['validate-only'] === true) return check.run(flags, positionals, terminal);
    const source = givenConfiguration(flags, positionals);
    const moved = operatorPorts(flags);
    const env = { ...terminal.env, ...moved };
    const flag = flags['no-admin'] === true ? '--no-admin' : '--admin-port';
    const { 'pid-file': pidFile } = flags;
    const exposed = await leaveBlockWithout(
      async () => [...secretVariables, ...(await secretsNamedBy(source, terminal))],
      terminal,
    );
    if (exposed !== undefined)
      terminal.err(`portcullis: secrets remain in the environment block of this process: ${exposed}\n`);
    return await serveUntilStopped(
      {
        source,
        env,
        flags: Object.fromEntries(Object.keys(moved).map((variable) => [variable, flag])),
        program: ownProgram(),
        ...(typeof pidFile === 'string' ? { pidFile } : {}),
      },
      terminal,
    );
  },
};

/** Variables that a configuration takes secrets from; none where it cannot be read, which the start reports. */
async function secretsNamedBy(source: Given, terminal: Terminal): Promise<readonly string[]> {
  // Loaded here, so that the command line starts without the reader of configurations.
  const { readRegularFile } = await import('../files/index.ts');
  const { load } = await import('./configuration.ts');
  try {
    // Only a regular file can be read twice: any other is an error here.
    const text = 'file' in source ? readRegularFile(source.file).toString() : source.text;
    if (!text.includes('$')) return [];
    const result = load(source, terminal);
    return result.ok ? result.secrets.variables : [];
  } catch {
    return [];
  }
}
