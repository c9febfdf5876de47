import { formatDuration, type InjectedValue, type StdioTarget } from '../../../model/index.ts';
import type { TargetFacts } from '../kind/targetFacts.ts';
import { stdioInCluster } from './clusterForm.ts';
import { stdioFile } from './fileForm.ts';

const byName = ([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number =>
  one < other ? -1 : 1;

const scopes = { shared: 'one child for all requests', user: 'one child for each user' } as const;

const wordsOf = (source: InjectedValue): string =>
  source.kind === 'claim'
    ? `the claim ${source.claim} of the caller`
    : source.kind === 'header'
      ? `the header ${source.header} of the caller`
      : 'a token exchanged for that of the caller';

/** The place in the file may change without the server. */
const identityOfValue = ([name, source]: readonly [string, InjectedValue]): readonly unknown[] => [
  name,
  source.kind === 'exchange' ? source.policies.map((policy) => policy.settings) : source,
];

/** An MCP server that runs as a child process and speaks over stdin and stdout. */
export const stdioFacts = {
  over: 'child',
  eitherEra: true,
  resumable: false,
  revivable: ({ stateless }) => stateless === true,
  identity: ({ cmd, args, env, clearEnv, cwd, injected }) => [
    cmd,
    args,
    Object.entries(env).toSorted(byName),
    clearEnv,
    cwd ?? null,
    ...(injected === undefined ? [] : [Object.entries(injected).toSorted(byName).map(identityOfValue)]),
  ],
  explain: (
    { cmd, args, env, clearEnv, cwd, startTimeoutMs, resume, stateless, scope, injected = {} },
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
        ...Object.entries(injected).map(([name, source]) => `sets ${name} to ${wordsOf(source)}`),
        ...(scope === undefined ? [] : [scopes[scope]]),
        `starts within ${formatDuration(startTimeoutMs)}`,
        ...calls,
        ...(stateless === true ? ['its session may begin anew at another gateway'] : []),
        ...(resume === false ? ['its session ends when the child is taken to make room'] : []),
      ],
    };
  },
  warnings: (target) =>
    target.injected === undefined
      ? []
      : [
          'children of different callers run under the same user id, and can read the environment of each other in /proc: their programs must be trusted',
        ],
  file: stdioFile,
  cluster: [stdioInCluster],
} as const satisfies TargetFacts<StdioTarget>;
