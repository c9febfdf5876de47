import type { Problem } from '../config/index.ts';
import type { Command } from './command.ts';
import { exitCode } from './exitCode.ts';
import { configurationFlags, givenConfiguration } from './givenConfiguration.ts';
import { printable } from './printable.ts';

export const check: Command = {
  summary: 'check a configuration and report every error',
  usage: '[FILE]',
  flags: {
    ...configurationFlags,
    'no-files': {
      type: 'boolean',
      help: 'skip the files and programs that the configuration names',
    },
    online: { type: 'boolean', help: 'fetch the key sets, and compare the metadata of their issuers' },
  },
  positionals: 1,
  async run(flags, positionals, terminal) {
    const given = givenConfiguration(flags, positionals);
    // Loaded here, so that the command line starts without the reader of configurations.
    const { load, showProblems, showWarnings } = await import('./configuration.ts');
    const { missingFiles } = await import('../config/index.ts');
    const { callRuleLines } = await import('./ruleDecisions.ts');
    const result = load(given, terminal);
    if (!result.ok) {
      showProblems(result.problems, terminal);
      return exitCode.invalid;
    }
    showWarnings(result.warnings, terminal);
    const problems = flags['no-files'] === true ? [] : missingFiles(result.named, terminal.env);
    if (flags['no-files'] !== true && result.named.some(({ kind }) => kind === 'file')) {
      // Loaded here, so that a configuration without files is checked without the code of the data plane.
      const { unusableFiles } = await import('./unusableFiles.ts');
      const missing = new Set(problems.map(({ path }) => path));
      const unusable = await unusableFiles(result.model, result.named);
      problems.push(...unusable.filter(({ path }) => path === '' || !missing.has(path)).map(safe));
    }
    if (flags['online'] === true) {
      // Loaded here, so that a check without the network starts without its code.
      const { checkOnline } = await import('./onlineCheck.ts');
      const found = await checkOnline(result.model);
      showWarnings(found.warnings.map(safe), terminal);
      problems.push(...found.problems.map(safe));
    }
    if (problems.length > 0) {
      showProblems(problems, terminal);
      return exitCode.invalid;
    }
    for (const line of callRuleLines(result.model)) terminal.out(`${printable(line)}\n`);
    terminal.out('the configuration is valid\n');
    return exitCode.ok;
  },
};

/** Servers chose a part of these words. */
const safe = (problem: Problem): Problem => ({ ...problem, message: printable(problem.message) });
