import type { Command } from './command.ts';
import { configurationFlags, givenConfiguration, load, showProblems, showWarnings } from './configuration.ts';
import { exitCode } from './exitCode.ts';

export const check: Command = {
  summary: 'check a configuration and say everything that is wrong with it',
  usage: '[FILE]',
  flags: configurationFlags,
  positionals: 1,
  run(flags, positionals, terminal) {
    const given = givenConfiguration(flags, positionals);
    const result = load(given, terminal);
    if (!result.ok) {
      showProblems(result.problems, terminal);
      return exitCode.invalid;
    }
    showWarnings(result.warnings, terminal);
    terminal.out('the configuration is valid\n');
    return exitCode.ok;
  },
};
