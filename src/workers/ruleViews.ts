import type { HttpListener, Model, PolicyUse } from '../model/index.ts';
import { decisionsOf } from '../policies/index.ts';
import { bindKey } from '../proxy/index.ts';
import type { RuleView } from './contract.ts';
import { routeId } from './routeViews.ts';

/** The authorization rules of a model with what they decide, those of a listener before those of its routes. */
export function ruleViews({ binds }: Model): readonly RuleView[] {
  return binds.flatMap((bind, index) => {
    const key = bindKey(bind, index);
    return bind.listeners.flatMap((listener) => ('routes' in listener ? viewsIn(listener, key) : []));
  });
}

const viewsIn = (listener: HttpListener, bind: string): readonly RuleView[] => [
  ...listener.policies.flatMap((policy) => viewsOf(policy, { bind, listener: listener.name })),
  ...listener.routes.flatMap((route) =>
    route.policies.flatMap((policy) =>
      viewsOf(policy, {
        bind,
        listener: listener.name,
        route: { id: routeId(bind, listener.name, route.name), name: route.name },
      }),
    ),
  ),
];

const viewsOf = (policy: PolicyUse, of: Pick<RuleView, 'bind' | 'listener' | 'route'>): readonly RuleView[] =>
  decisionsOf(policy).map(({ rule: _, below, ...decision }) => ({
    ...of,
    policy: policy.name,
    place: `${policy.place.path}${below}`,
    file: policy.place.file,
    line: policy.place.line,
    ...decision,
  }));
