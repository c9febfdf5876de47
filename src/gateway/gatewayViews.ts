import type { GatewayViews } from '../admin/index.ts';
import { GuidedLogins } from '../login/index.ts';
import { inOrder, type Audit } from '../audit/index.ts';
import type { Model } from '../model/index.ts';
import { expressionWords, routeViews, ruleViews, type Plane } from '../workers/index.ts';
import { play } from './playground.ts';
import type { RateHistory } from './rateHistory.ts';

export interface GatewayViewsOptions {
  readonly plane: Plane;
  readonly model: () => Model | undefined;
  readonly audit: Audit | undefined;
  readonly config: GatewayViews['config'];
  readonly history: RateHistory;
  /** Others than the operator write parts of the configuration. */
  readonly isShared: boolean;
}

/** The views of a gateway that serves. */
export function gatewayViews(options: GatewayViewsOptions): GatewayViews {
  const { plane, model, audit, config, history, isShared } = options;
  const routes: GatewayViews['routes'] = () => {
    const used = model();
    return used === undefined ? [] : routeViews(used, plane.ports);
  };
  const playRequest: GatewayViews['play'] = async (request, signal) => {
    const used = model();
    if (used === undefined) return { status: 503, refusal: 'no configuration is in use yet' };
    return await play(request, used, plane, signal);
  };
  return {
    startedAt: Date.now(),
    rates: async () => history.ratesOf(await plane.counts()),
    rateHistory: () => history.samples,
    routes,
    rules: () => {
      const used = model();
      return used === undefined ? [] : ruleViews(used);
    },
    expressionWords,
    endSession: (label) => plane.endSession(label),
    auditLines: async (limit) =>
      audit && inOrder([...audit.lastLines, ...(await plane.auditLines())]).slice(-limit),
    config,
    play: playRequest,
    logins: new GuidedLogins({ routes, play: playRequest, isShared }),
  };
}
