import { createHash } from 'node:crypto';
import { GatewayError, NotEvaluated } from '../../errors.ts';
import type {
  Caller,
  CallerWays,
  ItemCall,
  ItemRefusal,
  McpCheck,
  McpItem,
  RulesBasis,
  StepUp,
} from '../../mcp/index.ts';
import { allScopes, budgetHolderOf, expressionWork, stepUpOf, subjectOf } from '../../policies/index.ts';
import type { LiveExchange } from './liveExchange.ts';
import type { Step } from './step.ts';
import { decisionOf, originOf, skipped } from './steps.ts';
import { ExchangeAudit } from './requestAudit.ts';

/**
 * The owner of the session, the items that the route's rules allow, and the time until the access ends.
 * @param callTimeoutMs as the policies of the route say it, in milliseconds
 */
export function callerOf(
  exchange: LiveExchange,
  ways: CallerWays,
  callTimeoutMs: number | undefined,
): Caller {
  const { audit } = exchange.connection.port;
  const rules = exchange.route?.refuseMcpItem ?? [];
  const counters = exchange.route?.countMcpCall ?? [];
  const times = exchange.route?.mcpCallTime ?? [];
  const hasRules = rules.length > 0;
  const checks = checksOf(exchange);
  exchange.isJudgedLater =
    hasRules ||
    counters.length > 0 ||
    times.length > 0 ||
    checks !== undefined ||
    ways.environment !== undefined;
  return {
    principal: principalOf(exchange),
    holder: budgetHolderOf(exchange),
    reach: ways.reach,
    reachesAlike: ways.reachesAlike,
    credentialsDigest: ways.credentialsDigest,
    environment: ways.environment,
    callTimeoutMs,
    expiresAt: exchange.identity?.acceptedUntil,
    audit: audit && new ExchangeAudit(exchange, audit),
    refusalOf: hasRules ? (item, call) => refusalOf(exchange, item, call) : undefined,
    rulesBasis: hasRules ? () => rulesBasisOf(exchange, rules) : undefined,
    itemRules: hasRules ? (exchange.route?.itemRules ?? '') : undefined,
    toolNames: hasRules ? (exchange.route?.toolNames ?? []) : undefined,
    count: counters.length === 0 ? undefined : countOf(exchange, counters),
    callTime: times.length === 0 ? undefined : callTimeOf(exchange, times),
    checksOf: checks,
    whileAllowed: (end) => {
      exchange.isLongLived = true;
      return exchange.connection.port.keepLongLived(exchange, end);
    },
  };
}

/** A stream of news goes on for hours: each of its items is judged on a budget of its own. */
function refusalOf(exchange: LiveExchange, item: McpItem, call?: ItemCall): ItemRefusal | undefined {
  const refusal = refusalByRules(exchange, item, call);
  // A record explains the refusal with the arguments of the call.
  if (refusal !== undefined && call !== undefined) exchange.refusedCall ??= { item, call };
  return refusal;
}

function refusalByRules(exchange: LiveExchange, item: McpItem, call?: ItemCall): ItemRefusal | undefined {
  if (exchange.isLongLived) exchange.workLeft = expressionWork;
  let stepUp: ItemRefusal | undefined;
  for (const rule of exchange.route?.refuseMcpItem ?? []) {
    const refusal = rule(exchange, item, call);
    if (refusal === undefined) continue;
    // More scopes are of no use for an item that another policy hides.
    if (refusal.stepUp === undefined) return placedBy(rule, refusal);
    stepUp ??= placedBy(rule, refusal);
  }
  const { scopeRules = [], pathReadings } = exchange;
  // A single rule set has told all of its scopes.
  const isWhole = scopeRules.length < 2 && pathReadings.length === 0;
  if (stepUp === undefined || call === undefined || isWhole) return stepUp;
  return { ...stepUp, stepUp: wholeStepUp(exchange, stepUp.stepUp?.scopes ?? [], { item, call }) };
}

/** A client that learns only the scopes of one rule set would come back without those of the others. */
function wholeStepUp(
  exchange: LiveExchange,
  scopes: readonly string[],
  named: { readonly item: McpItem; readonly call: ItemCall },
): StepUp {
  const all = (exchange.scopeRules ?? []).map((needed) => needed(exchange, named));
  return stepUpOf(exchange, allScopes([...all, { scopes }]));
}

/** A route and its backend may have the same policy: only the step tells which of them refuses. */
function placedBy(step: Step<'refuseMcpItem'>, refusal: ItemRefusal): ItemRefusal {
  const origin = originOf(step);
  return origin === undefined ? refusal : { ...refusal, place: `${origin.place}${refusal.place ?? ''}` };
}

/**
 * Counts one after the other; the first that refuses names its policy.
 * @throws NotEvaluated where the request is explained
 */
const countOf =
  (exchange: LiveExchange, counters: readonly Step<'countMcpCall'>[]): NonNullable<Caller['count']> =>
  async (item, call) => {
    const ends: (() => void)[] = [];
    const open: string[] = [];
    const end = (): void => {
      for (const one of ends) one();
    };
    for (const counter of counters)
      try {
        const ended = await counter(exchange, item, call);
        if (ended !== undefined) ends.push(ended);
      } catch (error) {
        if (skipped(exchange, counter, error)) {
          open.push(originOf(counter)?.policy ?? '');
          continue;
        }
        end();
        const by = decisionOf(counter, error) ?? {};
        exchange.decided(by);
        // A batch has several calls, and each line of the audit stream names the limit of its own.
        throw error instanceof GatewayError ? error.with({ by }) : error;
      }
    if (open.length > 0) throw new NotEvaluated(`counted by ${open.join(', ')}`);
    return ends.length === 0 ? undefined : end;
  };

/** The first policy that says the time of a call counts. */
const callTimeOf =
  (exchange: LiveExchange, times: readonly Step<'mcpCallTime'>[]): NonNullable<Caller['callTime']> =>
  (item, call) => {
    for (const time of times) {
      const said = time(exchange, item, call);
      if (said !== undefined) return said;
    }
    return undefined;
  };

/** The checks of messages by the policies of the route. */
function checksOf(exchange: LiveExchange): Caller['checksOf'] {
  const { onMcpRequest = [], onMcpResult = [] } = exchange.route ?? {};
  if (onMcpRequest.length === 0 && onMcpResult.length === 0) return undefined;
  return (method) => ({
    request: onMcpRequest.flatMap((step) => noted(exchange, step, step(exchange, method))),
    result: onMcpResult.flatMap((step) => noted(exchange, step, step(exchange, method))),
  });
}

/** A request that is explained asks no service. */
function noted(
  { trial }: LiveExchange,
  step: Step<'onMcpRequest' | 'onMcpResult'>,
  checks: readonly McpCheck[],
): readonly McpCheck[] {
  if (checks.length > 0) trial?.notes.set(step, { what: 'it asks its processors', skipped: true });
  return checks;
}

/** Stands for all callers without a token. */
const noIdentity = {};

function rulesBasisOf(
  { route, identity, workLeft }: LiveExchange,
  rules: readonly unknown[],
): RulesBasis | undefined {
  // A rule that found no work left has refused an item that it may allow the next time.
  if (route?.itemsByIdentity !== true || workLeft < 0) return undefined;
  return { rules, identity: identity ?? noIdentity };
}

/** Everything that was proven about the caller; undefined for an anonymous one. */
export function principalOf({
  identity,
  token,
  user,
  apiKey,
}: Pick<LiveExchange, 'identity' | 'token' | 'user' | 'apiKey'>): string | undefined {
  const holder = identity === undefined ? undefined : holderOf(identity, token);
  if (user === undefined && apiKey === undefined) return holder;
  return JSON.stringify([holder ?? null, user ?? null, apiKey?.id ?? null]);
}

/**
 * The principal of a token. One without a subject says of nobody in particular that he is let in, and what else
 * it holds (`client_id`, say) may be the same for many people: such a token stands for itself alone.
 */
function holderOf(identity: NonNullable<LiveExchange['identity']>, token: string | undefined): string {
  if (identity.subject !== '') return subjectOf(identity);
  return `token\n${identity.issuer}\n${createHash('sha256')
    .update(token ?? '')
    .digest('base64url')}`;
}
