import { isDeepStrictEqual } from 'node:util';
import { itemSourceOf, serverOf } from '../../mcp/index.ts';
import type { McpBackend, PolicyUse } from '../../model/index.ts';
import type { Compiled, CompiledListener, CompiledRoute, LiveExchange } from './liveExchange.ts';
import { checkPathReadings } from './pathReadings.ts';

/** The reasons for the end of an answer, for its access line. */
const reasons = {
  caller: 'the user or the key of the caller was removed or changed',
  configuration: 'the new configuration may not serve it in the same way',
} as const;

/**
 * Answers that would go on for as long as the client stays, such as the event streams of MCP. Every other request ends
 * on the configuration it began with; these are looked at whenever there is a new one, and those that it might not
 * let in end. They also end when a file of users or a key set changes, so that their caller is no longer admitted. A
 * client that is still allowed comes back.
 */
export class LongLivedResponses {
  private readonly streams = new Map<LiveExchange, () => void>();
  private current: Compiled | undefined;

  /** @returns what takes it back */
  add(exchange: LiveExchange, end: () => void): () => void {
    const { current } = this;
    this.streams.set(exchange, end);
    // Its policies may have waited for something (keys, say) while the configuration changed.
    if (current !== undefined && current !== exchange.snapshot)
      this.check(exchange, end, current, new RuleComparisons());
    const watches = (exchange.route?.watchCaller ?? []).map((watch) =>
      watch(exchange, () => this.end(exchange, end, reasons.caller)),
    );
    return () => {
      this.streams.delete(exchange);
      for (const stop of watches) stop();
    };
  }

  /** Ends what would not be served in the same way, by the same rules, under the snapshot that has just been taken. */
  review(next: Compiled): void {
    this.current = next;
    const same = new RuleComparisons();
    for (const [exchange, end] of [...this.streams]) this.check(exchange, end, next, same);
  }

  private check(exchange: LiveExchange, end: () => void, next: Compiled, same: RuleComparisons): void {
    if (!servedTheSame(exchange, next, same)) this.end(exchange, end, reasons.configuration);
  }

  private end(exchange: LiveExchange, end: () => void, reason: string): void {
    if (!this.streams.delete(exchange)) return;
    exchange.noteReason(reason);
    try {
      end();
    } catch (error) {
      exchange.connection.broken(error);
    }
  }
}

function servedTheSame(exchange: LiveExchange, next: Compiled, same: RuleComparisons): boolean {
  const { listener, route, backend } = exchange;
  if (listener === undefined || route === undefined) return false;
  const now = next.bind(listener.bind, exchange.connection.tls !== undefined)?.find(exchange.host);
  if (now?.router === undefined || now.name !== listener.name) return false;
  let found: CompiledRoute | undefined;
  try {
    found = now.router.find(exchange, exchange.host, exchange.path)?.route;
    if (found !== undefined) checkPathReadings(exchange, now.router, found);
  } catch {
    // The new configuration has no route for it within its limits, or several.
    return false;
  }
  return (
    found?.of !== undefined &&
    found.broken === undefined &&
    found.of.backends.some(({ key }) => key === backend) &&
    same.of([listener, route], [now, found])
  );
}

type RoutePlace = readonly [listener: CompiledListener, route: CompiledRoute];

/** Do two routes have the same rules? Many streams share their routes: each pair is compared once. */
class RuleComparisons {
  private readonly known = new Map<CompiledRoute, Map<CompiledRoute, boolean>>();

  of(before: RoutePlace, now: RoutePlace): boolean {
    const [, route] = before;
    const [, found] = now;
    let known = this.known.get(route);
    if (known === undefined) this.known.set(route, (known = new Map<CompiledRoute, boolean>()));
    let verdict = known.get(found);
    if (verdict === undefined) known.set(found, (verdict = isDeepStrictEqual(rulesOf(before), rulesOf(now))));
    return verdict;
  }
}

/** All that decides who is let in: the policies, and what expressions may read of the route. */
const rulesOf = ([listener, route]: RoutePlace): unknown => [
  listener.gateway,
  withoutPlaces(listener.policies),
  route.name,
  route.of?.origin,
  withoutPlaces(route.of?.policies ?? []),
  route.of?.backends.map((backend) => (backend.kind === 'mcp' ? itemsOf(backend) : [])),
];

/** The settings that decide which items a client sees, and the names of targets in rules. */
const itemsOf = ({ targets, prefixMode, prefixSeparator, pin, view }: McpBackend): unknown => [
  targets.map((target) => [target.name, serverOf(target), itemSourceOf(target)]),
  prefixMode,
  prefixSeparator,
  pin,
  view,
];

/** The place where policies were written does not matter. */
const withoutPlaces = (uses: readonly PolicyUse[]): unknown =>
  uses.map(({ name, settings }) => [name, settings]);
