import {
  formatDuration,
  type ChildIsolation,
  type InjectedValue,
  type StdioTarget,
} from '../../../model/index.ts';
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

const wordsOfIsolation = (isolation: ChildIsolation): readonly string[] => [
  ...(isolation.user === undefined ? [] : [`as user ${isolation.user}`]),
  ...(isolation.group === undefined ? [] : [`as group ${isolation.group}`]),
  ...Object.entries(isolation.limits ?? {}).map(([name, value]) => `${name} at most ${String(value)}`),
  ...(isolation.privateFolder === true ? ['in a folder of its own'] : []),
  ...(isolation.privateProcesses === true ? ['sees its own processes only'] : []),
  ...(isolation.noNewPrivileges === true ? ['no new privileges'] : []),
];

/** An MCP server that runs as a child process and speaks over stdin and stdout. */
export const stdioFacts = {
  over: 'child',
  eitherEra: true,
  resumable: false,
  revivable: ({ stateless }) => stateless === true,
  identity: ({ cmd, args, env, clearEnv, cwd, injected, inheritEnv, isolation }) => [
    cmd,
    args,
    Object.entries(env).toSorted(byName),
    clearEnv,
    cwd ?? null,
    ...(injected === undefined ? [] : [Object.entries(injected).toSorted(byName).map(identityOfValue)]),
    ...(inheritEnv === undefined ? [] : [{ inheritEnv }]),
    ...(isolation === undefined ? [] : [{ isolation }]),
  ],
  explain: (target, { command, calls }) => {
    const { cmd, args, env, clearEnv, cwd, startTimeoutMs, resume, stateless, scope } = target;
    const { injected = {}, inheritEnv, isolation } = target;
    const names = Object.keys(env);
    return {
      server: command(cmd, args),
      details: [
        ...(cwd === undefined ? [] : [`in ${cwd}`]),
        ...(clearEnv ? ['empty environment'] : []),
        ...(inheritEnv === undefined ? [] : [`inherits ${inheritEnv.join(', ') || 'no variable'}`]),
        ...(isolation === undefined ? [] : wordsOfIsolation(isolation)),
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
    target.injected === undefined || target.isolation?.privateProcesses === true
      ? []
      : [
          'children of different callers run under the same user id, and can read the environment of each other in /proc: set privateProcesses, or trust the program',
        ],
  file: stdioFile,
  cluster: [stdioInCluster],
} as const satisfies TargetFacts<StdioTarget>;
