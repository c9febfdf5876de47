import type { Command } from './command.ts';
import { exitCode } from './exitCode.ts';

export const schema: Command = {
  summary: 'print the JSON Schema of the configuration, for editors',
  usage: '',
  flags: {},
  positionals: 0,
  async run(_flags, _positionals, terminal) {
    // Loaded here, so that the command line starts without the schema.
    const { configurationSchema } = await import('../config/index.ts');
    terminal.out(configurationSchema());
    return exitCode.ok;
  },
};
