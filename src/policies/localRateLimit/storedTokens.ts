import { GatewayError } from '../../errors.ts';
import { messageOf } from '../../errorText.ts';
import { keyDigest, type Reply, type Store } from '../../store/index.ts';
import type { Draws, RateLimitState, TokenLimit, TokenStore } from '../policy.ts';
import { drawScript } from './drawScript.ts';
import { nameOf } from './localTokens.ts';

/** Keeps the buckets in the store that replicas share. While it cannot count, this gateway counts by itself. */
export class StoredTokens implements TokenStore {
  private readonly store: Store;
  private readonly local: TokenStore;

  /** @param local counts in the place of the store */
  constructor(store: Store, local: TokenStore) {
    this.store = store;
    this.local = local;
  }

  open(place: string, limits: readonly TokenLimit[]): Draws {
    const { store } = this;
    const local = this.local.open(place, limits);
    const names = limits.map((limit, index) => keyDigest(`${place}\n${index}\n${nameOf(limit)}`));
    const sizes = limits.flatMap(({ maxTokens, tokensPerFill, fillInterval }) => [
      maxTokens,
      tokensPerFill,
      fillInterval,
    ]);
    const closes = limits.some(({ failureMode }) => failureMode === 'failClosed');
    return {
      async draw(keys) {
        const buckets = names.map((name, index) => `rate:${name}:${keyDigest(keys[index] ?? '')}`);
        try {
          return stateOf(await store.run(drawScript, buckets, sizes));
        } catch (error) {
          if (closes) throw new GatewayError('rate_limit_unavailable', { detail: messageOf(error) });
          return local.draw(keys);
        }
      },
      close: () => local.close(),
    };
  }
}

/** @throws Error for anything but the answer of the script */
function stateOf(reply: Reply): RateLimitState {
  const [allowed, most, left, fillMs, limit] = Array.isArray(reply) ? (reply as readonly Reply[]) : [];
  if (
    typeof most !== 'number' ||
    typeof left !== 'number' ||
    typeof fillMs !== 'number' ||
    typeof limit !== 'number'
  )
    throw new Error('the store answered something else');
  return { allowed: allowed === 1, most, left, fillMs, limit };
}
