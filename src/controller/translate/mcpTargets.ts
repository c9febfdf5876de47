import type { FederationSettings } from '../../config/index.ts';
import type { BuiltTarget, Refusal } from '../../mcp/targets/facts.ts';
import type { McpTarget } from '../../model/index.ts';
import { problem, type Problem } from './conditions.ts';
import type { TargetUse } from './mcpBackends.ts';
import { targetThatIsDown } from './mcpPod.ts';
import { mostTargets } from './mcpSchema.ts';

/** The result for a target as it is written: the targets that it stands for. */
export interface ResolvedTarget {
  readonly use: TargetUse;
  readonly built: readonly BuiltTarget[];
}

/** A target to serve, and the name that policies know it by: that of the target as it is written. */
export interface ServedTarget {
  readonly section: string;
  readonly target: McpTarget;
}

const refusalOf = (why: Problem): Refusal => ({ as: 'unresolved', why });

/** The state of a target that stands for the Services with its labels. */
export function useOfChosen(name: string, built: readonly BuiltTarget[]): TargetUse {
  if (built.length === 0)
    return { name, wrong: refusalOf(problem('BackendNotFound', 'no Service has its labels')) };
  const problems = built.flatMap(({ made }) => ('why' in made ? [made.why] : []));
  const [first] = problems;
  if (first === undefined) return { name };
  return {
    name,
    wrong: refusalOf(problem(first.reason, problems.map(({ message }) => message).join('; '))),
  };
}

/** Leaves out, and reports, targets whose name another target has, and those beyond the limit: the first ones stay. */
export function distinct(all: readonly ResolvedTarget[]): readonly ResolvedTarget[] {
  const written = new Set(all.map(({ use }) => use.name));
  const taken = new Set<string>();
  return all.map(({ use, built }) => {
    const told: string[] = [];
    const kept = built.filter(({ name }) => {
      const isWritten = name === use.name;
      const isFree = !taken.has(name) && (isWritten || !written.has(name));
      if (isFree && taken.size < mostTargets) return taken.add(name);
      told.push(isFree ? `Service ${name} is one too many` : `another target has the name ${name}`);
      return false;
    });
    if (told.length === 0) return { use, built };
    const earlier = use.wrong === undefined ? [] : [use.wrong.why.message];
    const why = problem(use.wrong?.why.reason ?? 'Conflicted', [...earlier, ...told].join('; '));
    return { use: { ...use, wrong: refusalOf(why) }, built: kept };
  });
}

/**
 * The targets to serve. Where each target stands for itself, one that cannot be used is served as one that is down, so
 * that no other target inherits its names.
 * @returns undefined where none can be served
 */
export function servedTargets(
  { failureMode }: FederationSettings,
  all: readonly ResolvedTarget[],
): readonly ServedTarget[] | undefined {
  const built = all.flatMap(({ use, built: some }) => some.map((one) => ({ section: use.name, ...one })));
  const usable = built.filter(({ made }) => !('why' in made)).length;
  if (usable === 0 || (usable < built.length && failureMode !== 'failOpen')) return undefined;
  return built.map(({ section, name, made }) => ({
    section,
    target: 'why' in made ? targetThatIsDown(name) : made,
  }));
}
