import { GatewayError, NotEvaluated } from '../../errors.ts';
import { formatDuration } from '../../model/index.ts';
import type { ItemCall, McpItem } from '../../mcp/contract.ts';
import type { Exchange, Policy, RateLimitState, Steps, TokenLimit, TokenStore } from '../policy.ts';
import { callKeysOf } from '../attributes/callKey.ts';
import { keysOf, type NumberedLimit } from './keys.ts';
import { countsCalls, localRateLimitSchema, type LocalRateLimitSettings } from './facts.ts';

export const localRateLimit: Policy<LocalRateLimitSettings> = {
  schema: localRateLimitSchema,
  prepare({ limits }, { place, tokens, globalTokens }) {
    const isGlobal = limits.some(({ scope }) => scope === 'global');
    const counter = isGlobal ? globalTokens : tokens;
    if (counter === undefined) throw new Error('localRateLimit: scope: global needs config.store');
    const numbered = limits.map((limit, index): Numbered => ({ limit, index, name: limitName(limit) }));
    const ofCalls = numbered.filter(({ limit }) => countsCalls(limit));
    const ofRequests = numbered.filter((one) => !ofCalls.includes(one));
    const counted = `it counts: ${numbered.map(({ name }) => name).join('; ')}`;
    const requests =
      ofRequests.length === 0 ? undefined : countRequests(ofRequests, counter, { place, counted });
    const calls = ofCalls.map((one) => countCalls(one, counter, { place, counted }));
    return {
      ...(requests && { onRequest: requests.onRequest }),
      ...(calls.length > 0 && {
        async countMcpCall(exchange: Exchange, item: McpItem, call: ItemCall): Promise<undefined> {
          for (const { count } of calls) await count(exchange, item, call);
        },
      }),
      close() {
        requests?.close();
        for (const { close } of calls) close();
      },
    };
  },
};

/** A limit with its place in the list, and its name in the log. */
interface Numbered extends NumberedLimit {
  readonly name: string;
}

/** Limits that a request draws from, all together or none of them. */
function countRequests(
  numbered: readonly Numbered[],
  counter: TokenStore,
  { place, counted }: { readonly place: string; readonly counted: string },
): { readonly onRequest: Required<Steps>['onRequest']; readonly close: () => void } {
  const limits = numbered.map(({ limit }) => limit);
  const keys = keysOf(numbered);
  const draws = counter.open(place, limits);
  const tellOf = (exchange: Exchange, state: RateLimitState): undefined =>
    tell(exchange, state, numbered[state.limit ?? 0]);
  return {
    onRequest(exchange) {
      if (exchange.trial !== undefined) throw new NotEvaluated(counted);
      const state = draws.draw(keys(exchange));
      if (!(state instanceof Promise)) return tellOf(exchange, state);
      return state.then((told) => tellOf(exchange, told));
    },
    close: () => draws.close(),
  };
}

/** A limit of the uses of MCP items. */
function countCalls(
  numbered: Numbered,
  counter: TokenStore,
  { place, counted }: { readonly place: string; readonly counted: string },
): {
  readonly count: (exchange: Exchange, item: McpItem, call: ItemCall) => Promise<void>;
  readonly close: () => void;
} {
  const { limit, index } = numbered;
  const find = callKeysOf(limit.key ?? '', `localRateLimit[${index}].key`);
  const draws = counter.open(`${place}\ncall ${index}`, [limit]);
  return {
    async count(exchange, item, call) {
      let least: RateLimitState | undefined;
      for (const key of find(exchange, item, call)) {
        if (exchange.trial !== undefined) throw new NotEvaluated(counted);
        const state = await draws.draw([key]);
        if (!state.allowed || least === undefined || state.left < least.left) least = state;
        if (!state.allowed) break;
      }
      if (least !== undefined) tell(exchange, least, numbered);
    },
    close: () => draws.close(),
  };
}

/** Allowed or not, the client learns where it stands. @throws GatewayError rate_limited */
function tell(
  exchange: Exchange,
  { allowed, most, left, fillMs }: RateLimitState,
  { name = '', index = 0 }: Partial<Numbered> = {},
): undefined {
  const seconds = String(Math.max(1, Math.ceil(fillMs / 1000)));
  const { responseHeaders } = exchange;
  responseHeaders.set('x-ratelimit-limit', String(most));
  responseHeaders.set('x-ratelimit-remaining', String(left));
  responseHeaders.set('x-ratelimit-reset', seconds);
  if (!allowed)
    throw new GatewayError('rate_limited', {
      headers: [['retry-after', seconds]],
      detail: `limit: ${name}`,
      by: { rule: name, place: `[${index}]` },
    });
  return undefined;
}

/** Names a limit in the log: its size, its rate, and the expression of its key. */
const limitName = ({ maxTokens, tokensPerFill, fillInterval, key }: TokenLimit): string =>
  `${maxTokens} at once, ${tokensPerFill} every ${formatDuration(fillInterval)}${key === undefined ? '' : `, key ${key}`}`;
