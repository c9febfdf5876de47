import type { Steps } from '../../policies/index.ts';
import type { Decision, DecisionOutcome, PolicyVerdict, RouteCandidate } from '../contract.ts';
import { matchText, mismatch } from '../routing/mismatch.ts';
import type { CompiledRoute, LiveExchange } from './liveExchange.ts';
import { originOf } from './steps.ts';
import type { Step, StepName } from './step.ts';

/** Routes that an explanation compares the request with. */
const mostCandidates = 16;

/**
 * Explains what decided a request. Everything is derived from the exchange and from the functions that served it, so
 * that requests which nobody asks about pay nothing. The head of the request must still be there.
 */
export function decisionOf(exchange: LiveExchange): Decision {
  const { listener, route, identity, user } = exchange;
  const subject = identity?.subject ?? user;
  return {
    bind: exchange.connection.port.key,
    ...(listener === undefined ? {} : { listener: listener.name }),
    ...(route?.of === undefined ? {} : { route: route.name, routePlace: route.of.place.path }),
    candidates: candidatesOf(exchange),
    policies: route === undefined ? [] : verdictsOf(exchange, route),
    ...(subject === undefined
      ? {}
      : { caller: { ...(identity === undefined ? {} : { issuer: identity.issuer }), subject } }),
    ...(exchange.backend === undefined ? {} : { backend: exchange.backend }),
    ...(exchange.upstreamMs === undefined
      ? {}
      : { upstream: { status: exchange.status, ms: exchange.upstreamMs } }),
    outcome: outcomeOf(exchange),
  };
}

function candidatesOf(exchange: LiveExchange): readonly RouteCandidate[] {
  const { listener, rule, host, path } = exchange;
  if (listener === undefined) return [];
  let matched = false;
  try {
    return listener.router.candidates(host, path, mostCandidates).map((candidate) => {
      const { of, name } = candidate.route;
      const isMatch = candidate === rule;
      const because = isMatch ? undefined : mismatch(candidate.of, exchange);
      const verdict = isMatch ? 'matched' : because === undefined && matched ? 'later' : 'differs';
      matched ||= isMatch;
      return {
        route: name,
        place: of?.place.path ?? '',
        match: matchText(candidate.of),
        verdict,
        ...(because === undefined ? {} : { because }),
      };
    });
  } catch {
    // The regular expressions of the routes took more work than one request may.
    return [];
  }
}

/** The steps of a route in the order in which they ran. */
function verdictsOf(exchange: LiveExchange, { onRequest, refuseMcpItem }: CompiledRoute): PolicyVerdict[] {
  const { decidedBy, trial } = exchange;
  // A request that found no route, or several, was refused before the policies.
  const reached = exchange.policiesBegan;
  let decided = false;
  const verdict = (step: Step<StepName>): PolicyVerdict[] => {
    const origin = originOf(step);
    if (origin === undefined) return [];
    const { policy, place, explain } = origin;
    if (!reached || decided) return [{ policy, place, verdict: 'not reached' }];
    const note = trial?.notes.get(step);
    decided = decidedBy?.policy === policy && decidedBy.place?.startsWith(place) === true;
    return [
      {
        policy,
        place,
        verdict: decided ? refusedOrAnswered(exchange) : note?.skipped === true ? 'not evaluated' : 'passed',
        ...becauseOf(decided ? decidedBy?.rule : note?.what),
        ...rulesOf(exchange, explain, place),
      },
    ];
  };
  const steps = onRequest.flatMap(verdict);
  // Rules about items may have no step of the request.
  return [...steps, ...refuseMcpItem.flatMap((step) => (isListed(step, steps) ? [] : verdict(step)))];
}

const isListed = (step: Step<StepName>, verdicts: readonly PolicyVerdict[]): boolean =>
  verdicts.some(({ place, policy }) => {
    const origin = originOf(step);
    return origin?.place === place && origin.policy === policy;
  });

const becauseOf = (because: string | undefined): Pick<PolicyVerdict, 'because'> =>
  because === undefined ? {} : { because };

/** A refused MCP message has the status of an answer. */
const refusedOrAnswered = ({ error, status, extra }: LiveExchange): 'refused' | 'answered' =>
  error !== undefined || status >= 400 || extra?.['mcp.outcome'] === 'refused' ? 'refused' : 'answered';

function rulesOf(
  exchange: LiveExchange,
  explain: Steps['explain'],
  above: string,
): Pick<PolicyVerdict, 'rules'> {
  const rules = (explain?.(exchange, exchange.item) ?? []).map((rule) => ({
    ...rule,
    place: `${above}${rule.place}`,
  }));
  return rules.length === 0 ? {} : { rules };
}

function outcomeOf(exchange: LiveExchange): DecisionOutcome {
  const { error, reason, decidedBy, status, backend } = exchange;
  const kind =
    decidedBy !== undefined
      ? refusedOrAnswered(exchange)
      : error !== undefined
        ? backend === undefined
          ? 'refused'
          : 'failed'
        : backend === undefined
          ? 'answered'
          : 'forwarded';
  return {
    kind,
    status,
    ...(error === undefined ? {} : { error }),
    ...(reason === undefined ? {} : { reason }),
    ...decidedBy,
  };
}
