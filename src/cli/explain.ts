import type { Command } from './command.ts';
import { exitCode } from './exitCode.ts';
import { configurationFlags, givenConfiguration } from './givenConfiguration.ts';

export const explain: Command = {
  summary: 'print the ports, the routes in match order, the policies and the backends',
  usage: '[FILE]',
  flags: configurationFlags,
  positionals: 1,
  async run(flags, positionals, terminal) {
    const given = givenConfiguration(flags, positionals);
    // Loaded here, so that the command line starts without the reader of configurations.
    const { loadToShow } = await import('./configuration.ts');
    const { explanation } = await import('./explanation.ts');
    const result = loadToShow(given, terminal);
    if (result === undefined) return exitCode.invalid;
    terminal.out(explanation(result.model));
    return exitCode.ok;
  },
};
