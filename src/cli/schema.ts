import { configurationSchema } from '../config/index.ts';
import type { Command } from './command.ts';
import { exitCode } from './exitCode.ts';

export const schema: Command = {
  summary: 'print the JSON Schema of the configuration, for editors',
  usage: '',
  flags: {},
  positionals: 0,
  run(_flags, _positionals, terminal) {
    terminal.out(configurationSchema());
    return exitCode.ok;
  },
};
