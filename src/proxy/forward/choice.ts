import type { Backend } from '../../model/index.ts';
import type { AffinityKey } from '../../policies/index.ts';
import { hashOf, lotOf, type Destination } from '../../upstream/index.ts';
import type { LiveExchange } from '../exchange/liveExchange.ts';
import type { Persistence } from '../routing/persistence.ts';
import { AffinityRouting } from '../routing/affinityRouting.ts';
import { byWeight as drawn } from '../routing/weights.ts';

/** A backend that is ready to be handed requests. */
export interface CompiledBackend {
  readonly backend: Backend;
  /** Absent for those that have no addresses. */
  readonly destination: Destination | undefined;
  readonly serve: (exchange: LiveExchange) => void;
}

/** Chooses the backend of a request; undefined if there is none. */
export type Choice = (exchange: LiveExchange) => CompiledBackend | undefined;

/** Drawn by lot, in proportion to the weights. */
export function byWeight(all: readonly CompiledBackend[]): Choice {
  return drawn(all.map((one) => ({ weight: one.backend.weight, value: one }))) ?? (() => undefined);
}

/**
 * Chooses among the backends, too, if all use the same key: each draws a lot for the key, longer ones the greater
 * its weight (weighted rendezvous hashing). Requests without the key are drawn by lot.
 */
export function byKey(all: readonly CompiledBackend[], keyOf: AffinityKey): Choice {
  const live = all.flatMap((one) =>
    one.backend.weight > 0 ? [{ one, weight: one.backend.weight, hash: hashOf(one.backend.key) }] : [],
  );
  const otherwise = byWeight(all);
  return (exchange) => {
    const key = keyOf(exchange);
    if (key === undefined) return otherwise(exchange);
    const affinity = (exchange.affinity ??= new AffinityRouting());
    affinity.key = hashOf(key);
    let best: CompiledBackend | undefined;
    let highest = -1;
    for (const { one, weight, hash } of live) {
      const lot = weight / -Math.log((lotOf(affinity.key, hash) + 0.5) / 2 ** 32);
      if (lot <= highest) continue;
      best = one;
      highest = lot;
    }
    return best;
  };
}

/**
 * The backend of the request's session, even one of weight 0, which only new sessions do not go to; where there is no
 * session, or its backend is down, another one.
 */
export function bySession(
  all: readonly CompiledBackend[],
  persistence: Persistence,
  otherwise: Choice,
): Choice {
  const places = new Map(all.map((one, index) => [one, index]));
  return (exchange) => {
    const session = persistence.find(exchange);
    const affinity = (exchange.affinity = new AffinityRouting(persistence, session));
    const home = session === undefined ? undefined : all[session.backend];
    const stays =
      session?.endpoint !== undefined || (home !== undefined && home.backend.weight > 0 && isUp(home));
    const chosen = stays ? home : otherwise(exchange);
    if (chosen !== undefined) affinity.backend = places.get(chosen) ?? 0;
    return chosen;
  };
}

const isUp = ({ destination }: CompiledBackend): boolean =>
  destination === undefined || destination.known.some((endpoint) => destination.accepts(endpoint));
