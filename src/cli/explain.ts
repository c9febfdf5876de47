import { rememberSecrets } from '../telemetry/index.ts';
import type { Command } from './command.ts';
import { configurationFlags, givenConfiguration, load, showProblems, showWarnings } from './configuration.ts';
import { exitCode } from './exitCode.ts';
import { explanation } from './explanation.ts';

export const explain: Command = {
  summary: 'print the ports, the routes in match order, the policies and the backends',
  usage: '[FILE]',
  flags: configurationFlags,
  positionals: 1,
  run(flags, positionals, terminal) {
    const result = load(givenConfiguration(flags, positionals), terminal);
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
