import type { Refusal } from '../../mcp/targets/facts.ts';
import { problem, verdict, type Problem, type Verdict } from './conditions.ts';
import type { StatusUpdate } from './contract.ts';
import type { McpState, McpUse } from './mcpBackends.ts';
import { ancestorOf, ancestorsStatus } from './status.ts';

/** The reasons why pods of an McpBackend do not serve, by the names of their targets; undefined for a pod that serves. */
export type PodNews = ReadonlyMap<string, Problem | undefined>;

/** The problem of a target. */
export interface TargetProblem {
  readonly name: string;
  readonly why: Problem;
}

/** Joins the problems into one that names each target and has the reason of the first. */
export function joinedProblem(problems: readonly TargetProblem[]): Problem | undefined {
  const [first] = problems;
  if (first === undefined) return undefined;
  const told = problems.map(({ name, why }) => `target ${name}: ${why.message}`);
  return problem(first.why.reason, told.join('; '));
}

const programmed = 'Programmed';

/** Undefined where it is not, and was not, of our concern. */
export const mcpBackendStatus = (
  { object, spec, uses }: McpState,
  news: PodNews,
  controllerName: string,
  now: string,
): StatusUpdate | undefined =>
  ancestorsStatus(
    'McpBackend',
    object,
    Array.from(uses.values(), (use) => ({
      ...ancestorOf(use.gateway),
      verdicts: [
        verdict(
          'Accepted',
          'reason' in spec ? spec : (use.wrong ?? joinedProblem(problemsOf(use, 'refused'))),
        ),
        verdict('ResolvedRefs', joinedProblem(problemsOf(use, 'unresolved'))),
        ...ofPods(use, news),
      ],
    })),
    controllerName,
    now,
    [programmed],
  );

const problemsOf = ({ targets }: McpUse, kind: Refusal['as']): readonly TargetProblem[] =>
  targets.flatMap(({ name, wrong }) => (wrong?.as === kind ? [{ name, why: wrong.why }] : []));

/** The condition about the pods that the Gateway allows; none where it has no pods. */
function ofPods({ targets }: McpUse, news: PodNews): readonly Verdict[] {
  const allowed = targets.filter(({ name, wrong }) => news.has(name) && wrong?.as !== 'refused');
  if (allowed.length === 0) return [];
  const problems = allowed.flatMap(({ name, wrong }): readonly TargetProblem[] => {
    const why = wrong?.as === 'pending' ? wrong.why : news.get(name);
    return why === undefined ? [] : [{ name, why }];
  });
  return [verdict(programmed, joinedProblem(problems))];
}
