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
    const { load, showProblems, showWarnings } = await import('./configuration.ts');
    const { rememberSecrets } = await import('../telemetry/index.ts');
    const { explanation } = await import('./explanation.ts');
    const result = load(given, terminal);
    if (!result.ok) {
      showProblems(result.problems, terminal);
      return exitCode.invalid;
    }
    rememberSecrets(result.secrets.values);
    showWarnings(result.warnings, terminal);
    terminal.out(explanation(result.model));
    return exitCode.ok;
  },
};
