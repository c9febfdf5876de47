import { formatDuration, type StdioTarget } from '../../../model/index.ts';
import type { TargetFacts } from '../kind/targetFacts.ts';
import { stdioInCluster } from './clusterForm.ts';
import { stdioFile } from './fileForm.ts';

/** An MCP server that runs as a child process and speaks over stdin and stdout. */
export const stdioFacts = {
  over: 'child',
  eitherEra: true,
  resumable: false,
  revivable: ({ stateless }) => stateless === true,
  identity: ({ cmd, args, env, clearEnv, cwd }) => [
    cmd,
    args,
    Object.entries(env).toSorted(([one], [other]) => (one < other ? -1 : 1)),
    clearEnv,
    cwd ?? null,
  ],
  explain: (
    { cmd, args, env, clearEnv, cwd, startTimeoutMs, resume, stateless, scope },
    { command, calls },
  ) => {
    const names = Object.keys(env);
    return {
      server: command(cmd, args),
      details: [
        ...(cwd === undefined ? [] : [`in ${cwd}`]),
        ...(clearEnv ? ['empty environment'] : []),
        // Names only: values are where people put secrets.
        ...(names.length === 0 ? [] : [`sets ${names.join(', ')}`]),
        ...(scope === undefined ? [] : ['one child for all requests']),
        `starts within ${formatDuration(startTimeoutMs)}`,
        ...calls,
        ...(stateless === true ? ['its session may begin anew at another gateway'] : []),
        ...(resume === false ? ['its session ends when the child is taken to make room'] : []),
      ],
    };
  },
  file: stdioFile,
  cluster: [stdioInCluster],
} as const satisfies TargetFacts<StdioTarget>;
