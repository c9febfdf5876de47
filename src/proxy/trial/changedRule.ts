import type { ToolNames } from '../../mcp/index.ts';
import { policyOrder, type Steps } from '../../policies/index.ts';
import type { ChangedRule } from '../contract.ts';
import type { CompiledRoute } from '../exchange/liveExchange.ts';
import type { Step, StepName } from '../exchange/step.ts';
import { originOf, pickSteps, withOrigin, type StepOrigin } from '../exchange/steps.ts';

/**
 * A route as it would be with another expression in one rule. The policy of the rule compiles it as it does at a load;
 * everything else is that of the route in use.
 * @throws Error where no rule of the route has the place, and for an expression that the rule cannot have
 */
export function withChangedRule(route: CompiledRoute, { place, expression }: ChangedRule): CompiledRoute {
  const origins = [...route.onRequest, ...route.refuseMcpItem].flatMap((step) => originOf(step) ?? []);
  for (const origin of origins) {
    const { withRule } = origin;
    if (withRule === undefined || !place.startsWith(`${origin.place}.`)) continue;
    const changed = withRule(place.slice(origin.place.length), expression);
    if (changed !== undefined) return routeWith(route, origin, changed);
  }
  throw new Error(`the route ${route.name} has no rule at ${place}`);
}

function routeWith(route: CompiledRoute, origin: StepOrigin, changed: Omit<Steps, 'close'>): CompiledRoute {
  const steps = withOrigin(changed, origin);
  const order = orderIn(route);
  const replaced = <Of extends StepName>(name: Of, present: readonly Step<Of>[]): readonly Step<Of>[] => {
    const own = pickSteps([steps], name);
    const isOwn = (step: Step<Of>): boolean => isOf(originOf(step), origin);
    if (present.some(isOwn)) return present.flatMap((step) => (isOwn(step) ? own : [step]));
    // The rules in use have no such step: it stands where a load would put it.
    const mine = order(origin);
    const at = present.findIndex((step) => order(originOf(step)) > mine);
    return at === -1 ? [...present, ...own] : present.toSpliced(at, 0, ...own);
  };
  return {
    ...route,
    onRequest: replaced('onRequest', route.onRequest),
    refuseMcpItem: replaced('refuseMcpItem', route.refuseMcpItem),
    neededScopes: replaced('neededScopes', route.neededScopes),
    toolNames: toolNamesWith(route.toolNames, origin, steps.toolNames ?? []),
    // No answer about another rule is remembered.
    itemsByIdentity: false,
  };
}

const isOf = (step: StepOrigin | undefined, { policy, place }: StepOrigin): boolean =>
  step?.policy === policy && step.place === place;

/** The position of a policy of the route: those of its listener come first, then each in the order of the table. */
const orderIn =
  ({ of }: CompiledRoute) =>
  (origin: StepOrigin | undefined): number => {
    if (origin === undefined) return -1;
    const ofRoute = of?.policies.some(({ place }) => place.path === origin.place) === true;
    return (ofRoute ? mostPolicies : 0) + policyOrder(origin.policy);
  };

/** More than the table has. */
const mostPolicies = 1_000;

function toolNamesWith(
  present: readonly ToolNames[],
  { place }: StepOrigin,
  own: readonly ToolNames[],
): readonly ToolNames[] {
  const others = present.filter(({ by }) => by.place?.startsWith(`${place}.`) !== true);
  return [
    ...others,
    ...own.map(({ by, ...names }) => ({ ...names, by: { ...by, place: place + (by.place ?? '') } })),
  ];
}
