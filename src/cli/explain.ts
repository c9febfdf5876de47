import type { Command } from './command.ts';
import { exitCode } from './exitCode.ts';
import { configurationFlags, givenConfiguration } from './givenConfiguration.ts';

export const explain: Command = {
  summary: 'print the ports, the routes in match order, the policies and the backends',
  usage: '[FILE] [--json]',
  flags: {
    ...configurationFlags,
    json: { type: 'boolean', help: 'print the model as JSON, with secrets replaced' },
  },
  positionals: 1,
  async run(flags, positionals, terminal) {
    const given = givenConfiguration(flags, positionals);
    // Loaded here, so that the command line starts without the reader of configurations.
    const { loadToShow } = await import('./configuration.ts');
    const { explanation } = await import('./explanation.ts');
    const result = loadToShow(given, terminal);
    if (result === undefined) return exitCode.invalid;
    if (flags['json'] === true) {
      const [{ redactDump }, { maskedFields }] = await Promise.all([
        import('../admin/index.ts'),
        import('../config/index.ts'),
      ]);
      terminal.out(`${JSON.stringify(redactDump(result.model, maskedFields), null, 2)}\n`);
    } else terminal.out(explanation(result.model));
    return exitCode.ok;
  },
};
