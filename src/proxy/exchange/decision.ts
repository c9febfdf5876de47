import type { McpVerdict } from '../../mcp/index.ts';
import type { Steps } from '../../policies/index.ts';
import type { Decision, DecisionOutcome, PolicyVerdict, RouteCandidate } from '../contract.ts';
import { matchText, mismatch } from '../routing/mismatch.ts';
import type { CompiledRoute, LiveExchange } from './liveExchange.ts';
import { originOf, type StepOrigin } from './steps.ts';
import type { Step, StepName } from './step.ts';

/** Routes that an explanation compares the request with. */
const mostCandidates = 16;

/**
 * Explains what decided a request. Everything is derived from the exchange and from the functions that served it, so
 * that requests which nobody asks about pay nothing. The head of the request must still be there.
 * @param mcp the verdicts about the messages of a request that is explained, with whole places
 */
export function decisionOf(exchange: LiveExchange, mcp: readonly McpVerdict[] = []): Decision {
  const { listener, route, identity, user } = exchange;
  const subject = identity?.subject ?? user;
  return {
    bind: exchange.connection.port.key,
    ...(listener === undefined ? {} : { listener: listener.name }),
    ...(route?.of === undefined ? {} : { route: route.name, routePlace: route.of.place.path }),
    candidates: candidatesOf(exchange),
    policies: route === undefined ? [] : verdictsOf(exchange, route, mcp),
    ...(subject === undefined
      ? {}
      : { caller: { ...(identity === undefined ? {} : { issuer: identity.issuer }), subject } }),
    ...(exchange.backend === undefined ? {} : { backend: exchange.backend }),
    ...upstreamOf(exchange),
    outcome: outcomeOf(exchange),
  };
}

function upstreamOf({ upstreamMs, targetMs, status, extra }: LiveExchange): Pick<Decision, 'upstream'> {
  if (upstreamMs !== undefined) return { upstream: { status, ms: upstreamMs } };
  if (targetMs === undefined) return {};
  const target = extra?.['mcp.target'];
  return { upstream: { ...(target === undefined ? {} : { target: String(target) }), ms: targetMs } };
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

/** The policies of a route in the order in which their first steps ran. */
function verdictsOf(
  exchange: LiveExchange,
  route: CompiledRoute,
  mcp: readonly McpVerdict[],
): PolicyVerdict[] {
  const { decidedBy } = exchange;
  // A request that found no route, or several, was refused before the policies.
  const reached = exchange.policiesBegan;
  const allRefused = mcp.length > 0 && mcp.every(({ verdict }) => verdict === 'refused');
  let decided = false;
  let messagesRefused = false;
  return policiesOf(route).map(({ origin, steps, ofMessages }) => {
    const { policy, place, explain } = origin;
    const isAbout = (by: Pick<McpVerdict, 'policy' | 'place'>): boolean =>
      by.policy === policy && by.place?.startsWith(place) === true;
    if (!reached || decided || (messagesRefused && ofMessages))
      return { policy, place, verdict: 'not reached' };
    const rules = rulesOf(exchange, explain, place);
    decided = decidedBy !== undefined && isAbout(decidedBy);
    if (decided)
      return { policy, place, verdict: refusedOrAnswered(exchange), ...becauseOf(decidedBy?.rule), ...rules };
    const refused = mcp.filter(isAbout);
    const [first] = refused;
    if (allRefused && first !== undefined) {
      messagesRefused = refused.length === mcp.length;
      return { policy, place, verdict: 'refused', ...becauseOf(first.rule), ...rules };
    }
    if (first !== undefined)
      return {
        policy,
        place,
        verdict: 'passed',
        because: `it refuses ${refused.length} of ${mcp.length} messages`,
        ...rules,
      };
    const notes = steps.flatMap((step) => exchange.trial?.notes.get(step) ?? []);
    const note = notes.find(({ skipped }) => skipped) ?? notes[0];
    const verdict = note?.skipped === true ? 'not evaluated' : 'passed';
    return { policy, place, verdict, ...becauseOf(note?.what), ...rules };
  });
}

/** A policy with all of its steps. */
interface RoutePolicy {
  readonly origin: StepOrigin;
  readonly steps: Step<StepName>[];
  /** It looks at MCP messages only. */
  readonly ofMessages: boolean;
}

function policiesOf({
  onRequest,
  refuseMcpItem,
  onMcpRequest,
  countMcpCall,
  onMcpResult,
}: CompiledRoute): RoutePolicy[] {
  const policies: RoutePolicy[] = [];
  const add = (step: Step<StepName>, ofMessages: boolean): void => {
    const origin = originOf(step);
    if (origin === undefined) return;
    const known = policies.find(
      ({ origin: { policy, place } }) => policy === origin.policy && place === origin.place,
    );
    if (known === undefined) policies.push({ origin, steps: [step], ofMessages });
    else known.steps.push(step);
  };
  for (const step of onRequest) add(step, false);
  for (const step of [...refuseMcpItem, ...onMcpRequest, ...countMcpCall, ...onMcpResult]) add(step, true);
  return policies;
}

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
  // The messages of a request that is explained have the values of rules about items themselves.
  const refused = exchange.trial === undefined ? exchange.refusedCall : undefined;
  const { item, call } = refused ?? { item: exchange.item, call: undefined };
  const rules = (explain?.(exchange, item, call) ?? []).map((rule) => ({
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
