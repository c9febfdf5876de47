import { hash } from 'node:crypto';
import { messageOf } from '../../errorText.ts';
import { systemClock, Unavailable, type Caller, type Clock } from '../../stream/index.ts';
import type { Counter, Metrics } from '../../telemetry/index.ts';
import type { KubeApi } from '../api/api.ts';
import { isRecord } from '../api/object.ts';
import { TokenBucket, type Rate } from '../work/tokenBucket.ts';

/** A ServiceAccount, proven. */
export interface Account extends Caller {
  readonly namespace: string;
  readonly name: string;
}

export interface TokenReviewerOptions {
  readonly api: Pick<KubeApi, 'request'>;
  /** The audience that tokens must have: a token for the API server is refused. */
  readonly audience: string;
  readonly metrics: Metrics;
  /** The rate of questions to the API server: any client that reaches us can invent tokens. */
  readonly rate?: Rate;
  /** The same for tokens of one address, of which only those count that are not good. */
  readonly addressRate?: Rate;
  /** The time that an answer holds, in milliseconds: for a good token, and for a bad one. */
  readonly goodMs?: number;
  readonly badMs?: number;
  readonly maxRemembered?: number;
  readonly clock?: Clock;
}

interface Known {
  readonly answer: Promise<Account | undefined>;
  until: number;
}

const usernamePattern = /^system:serviceaccount:([a-z0-9.-]+):([a-z0-9.-]+)$/;
const podExtra = 'authentication.kubernetes.io/pod-name';
const podUidExtra = 'authentication.kubernetes.io/pod-uid';

/**
 * Asks the API server (TokenReview) whose a token is. What was asked is remembered for a while, so that proxies that
 * come back all at once are no load.
 */
export class TokenReviewer {
  private readonly options: Required<Omit<TokenReviewerOptions, 'rate' | 'addressRate'>>;
  private readonly bucket: TokenBucket;
  private readonly addressRate: Rate;
  /** By address, the one that was heard longest ago first. */
  private readonly addresses = new Map<string, TokenBucket>();
  private readonly reviews: Counter;
  /** By a hash of the token, the oldest first. */
  private readonly known = new Map<string, Known>();

  constructor(options: TokenReviewerOptions) {
    const {
      rate = { perSecond: 50, burst: 500 },
      addressRate = { perSecond: 2, burst: 20 },
      ...rest
    } = options;
    this.addressRate = addressRate;
    this.options = {
      goodMs: 60_000,
      badMs: 10_000,
      maxRemembered: 10_000,
      clock: systemClock,
      ...rest,
    };
    this.bucket = new TokenBucket(rate, this.options.clock);
    this.reviews = options.metrics.counter('stream_token_reviews_total', 'Tokens of proxies looked at', [
      'result',
    ]);
  }

  /**
   * @param address that the token came from
   * @returns undefined where it is no token of a ServiceAccount for us
   * @throws Unavailable where the API server does not say, or was asked too often, on the whole or for this address
   */
  async review(token: string, address: string): Promise<Account | undefined> {
    const claims = claimsOf(token);
    // Without asking anybody: what says by itself that it is not for us, or is over, or is nothing at all.
    if (claims === undefined || !this.mayBeGood(claims)) {
      this.reviews.add({ result: 'refused' });
      return undefined;
    }
    const { clock } = this.options;
    const key = hash('sha256', token, 'base64url');
    const known = this.known.get(key);
    if (known !== undefined && known.until > clock.now()) {
      this.reviews.add({ result: 'remembered' });
      return await known.answer;
    }
    // First that of the address: who has none left takes nothing from others.
    const own = this.bucketOf(address);
    if (own.take() > 0 || this.bucket.take() > 0) {
      this.reviews.add({ result: 'limited' });
      throw new Unavailable('too many tokens at a time');
    }
    const account = await this.remember(key, this.ask(token, claims));
    // A node that starts all of its proxies at once, behind one address, made nothing up.
    if (account !== undefined) own.giveBack();
    return account;
  }

  private bucketOf(address: string): TokenBucket {
    const { clock, maxRemembered } = this.options;
    const bucket = this.addresses.get(address) ?? new TokenBucket(this.addressRate, clock);
    this.addresses.delete(address);
    this.addresses.set(address, bucket);
    for (const oldest of this.addresses.keys()) {
      if (this.addresses.size <= maxRemembered) break;
      this.addresses.delete(oldest);
    }
    return bucket;
  }

  private async remember(key: string, answer: Promise<Account | undefined>): Promise<Account | undefined> {
    const { clock, goodMs, badMs, maxRemembered } = this.options;
    this.known.delete(key);
    // Further callers with the same token wait for the same answer.
    const entry: Known = { answer, until: Infinity };
    this.known.set(key, entry);
    for (const oldest of this.known.keys()) {
      if (this.known.size <= maxRemembered) break;
      this.known.delete(oldest);
    }
    try {
      const account = await answer;
      entry.until = clock.now() + (account === undefined ? badMs : goodMs);
      this.reviews.add({ result: account === undefined ? 'refused' : 'good' });
      return account;
    } catch (error) {
      if (this.known.get(key) === entry) this.known.delete(key);
      this.reviews.add({ result: 'failed' });
      throw error;
    }
  }

  private async ask(token: string, { exp }: Claims): Promise<Account | undefined> {
    const { api, audience } = this.options;
    let review: unknown;
    try {
      review = await api.request({
        method: 'POST',
        path: '/apis/authentication.k8s.io/v1/tokenreviews',
        body: {
          apiVersion: 'authentication.k8s.io/v1',
          kind: 'TokenReview',
          spec: { token, audiences: [audience] },
        },
        timeoutMs: 10_000,
      });
    } catch (error) {
      throw new Unavailable(messageOf(error));
    }
    return accountOf(review, audience, exp);
  }

  private mayBeGood({ aud, exp }: Claims): boolean {
    const audiences = Array.isArray(aud) ? aud : [aud];
    if (!audiences.includes(this.options.audience)) return false;
    return exp === undefined || exp * 1_000 > Date.now();
  }
}

interface Claims {
  readonly aud: unknown;
  readonly exp: number | undefined;
}

/** The claims of a JSON Web Token, not verified yet. */
function claimsOf(token: string): Claims | undefined {
  const [, payload, signature] = token.split('.');
  if (payload === undefined || signature === undefined) return undefined;
  try {
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as unknown;
    if (!isRecord(claims)) return undefined;
    const { aud, exp } = claims;
    return { aud, exp: typeof exp === 'number' ? exp : undefined };
  } catch {
    return undefined;
  }
}

function accountOf(review: unknown, audience: string, exp: number | undefined): Account | undefined {
  const status = isRecord(review) && isRecord(review['status']) ? review['status'] : {};
  const { authenticated, audiences, user } = status;
  if (authenticated !== true || !isRecord(user)) return undefined;
  // A server that knows nothing of audiences says none: then the token is for the API server itself.
  if (!Array.isArray(audiences) || !audiences.includes(audience)) return undefined;
  const { username, extra } = user;
  const [subject, namespace, name] = usernamePattern.exec(typeof username === 'string' ? username : '') ?? [];
  if (subject === undefined || namespace === undefined || name === undefined) return undefined;
  const pod = firstOf(extra, podExtra);
  const uid = firstOf(extra, podUidExtra);
  return {
    subject,
    namespace,
    name,
    // A pod of the same name may come after this one.
    pod: pod === undefined ? undefined : `${pod}/${uid ?? ''}`,
    expiresAt: exp === undefined ? undefined : exp * 1_000,
  };
}

function firstOf(extra: unknown, name: string): string | undefined {
  const values = isRecord(extra) ? extra[name] : undefined;
  const first: unknown = Array.isArray(values) ? values[0] : undefined;
  return typeof first === 'string' ? first : undefined;
}
