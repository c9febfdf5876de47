import { hash } from 'node:crypto';
import { celNumber, durationMs, scalarText, timeText } from '../../cel/index.ts';
import { compiled } from '../attributes/compiled.ts';
import { contextFor } from '../attributes/context.ts';
import { requestAttributes } from '../attributes/declared.ts';
import { evaluate } from '../attributes/evaluate.ts';
import type { Exchange, PolicyTools } from '../policy.ts';
import type { Decision } from './decision.ts';
import type { LengthOfTime } from '../fields/durationOrExpression.ts';
import type { CacheSettings } from './facts.ts';

/** Bytes of all decisions of one policy, about. */
const mostBytes = { operator: 33_554_432, tenant: 4_194_304 } as const;

interface Kept {
  readonly decision: Decision;
  /** Milliseconds since the epoch. */
  readonly until: number;
  readonly bytes: number;
}

/** Decisions that hold for further requests with the same key. */
export class KeptDecisions {
  private readonly keyValues: (exchange: Exchange) => readonly unknown[];
  private readonly lifetime: (exchange: Exchange) => number | undefined;
  private readonly most: { readonly entries: number; readonly bytes: number };
  private readonly now: () => number;
  /** In the order of use: the first is the one that was not used for longest. */
  private readonly kept = new Map<string, Kept>();
  private bytes = 0;

  /** @throws Error where an expression does not compile */
  constructor(
    { key, ttl, maxEntries }: CacheSettings,
    { now, guarded }: Pick<PolicyTools, 'now' | 'guarded'>,
  ) {
    this.now = now;
    this.most = { entries: maxEntries, bytes: guarded === true ? mostBytes.tenant : mostBytes.operator };
    const reads = key.map((source, index) => valueOf(source, `extAuthz.cache.key[${String(index)}]`));
    this.keyValues = (exchange) => reads.map((read) => read(exchange));
    this.lifetime = lifetimeOf(ttl, now);
  }

  /** The key of a request; undefined where no decision is kept for it. */
  keyOf(exchange: Exchange): string | undefined {
    const texts = this.keyValues(exchange).map(keyText);
    if (texts.length === 0 || texts.includes(undefined)) return undefined;
    // The digest: a key may hold a token.
    return hash('sha256', JSON.stringify(texts), 'base64');
  }

  get(key: string): Decision | undefined {
    const found = this.kept.get(key);
    if (found === undefined) return undefined;
    this.remove(key, found);
    if (found.until <= this.now()) return undefined;
    this.add(key, found);
    return found.decision;
  }

  /** @param exchange has the values of the decision */
  keep(key: string, decision: Decision, exchange: Exchange): void {
    const ms = this.lifetime(exchange);
    if (ms === undefined || !(ms > 0)) return;
    const before = this.kept.get(key);
    if (before !== undefined) this.remove(key, before);
    this.add(key, { decision, until: this.now() + ms, bytes: bytesOf(decision) });
    for (const [oldest, one] of this.kept) {
      if (this.kept.size <= this.most.entries && this.bytes <= this.most.bytes) return;
      this.remove(oldest, one);
    }
  }

  private add(key: string, kept: Kept): void {
    this.kept.set(key, kept);
    this.bytes += kept.bytes;
  }

  private remove(key: string, kept: Kept): void {
    this.kept.delete(key);
    this.bytes -= kept.bytes;
  }
}

/** The value of an expression; an Error where it fails. */
function valueOf(source: string, what: string): (exchange: Exchange) => unknown {
  const program = compiled(source, requestAttributes, what);
  const contextOf = contextFor([program]);
  return (exchange) => evaluate(program, contextOf(exchange), exchange, what);
}

/** A part of a key, of which each value of each type has its own; undefined for what is no scalar. */
function keyText(value: unknown): string | undefined {
  if (value === null) return 'null';
  if (value instanceof Uint8Array) return `bytes ${Buffer.from(value).toString('base64')}`;
  const text = typeof value === 'string' ? value : scalarText(value);
  return text === undefined ? undefined : `${typeof value} ${text}`;
}

/** Milliseconds that a decision holds; undefined where the expression has no such value. */
function lifetimeOf(ttl: LengthOfTime, now: () => number): (exchange: Exchange) => number | undefined {
  if (ttl.kind === 'fixed') return () => ttl.ms;
  const read = valueOf(ttl.source, 'extAuthz.cache.ttl');
  return (exchange) => {
    const value = read(exchange);
    if (value instanceof Error) return undefined;
    const time = timeText(value);
    if (time !== undefined) return Date.parse(time) - now();
    // As in claims such as `exp`: seconds since the epoch.
    const seconds = celNumber(value);
    return seconds === undefined ? durationMs(value) : seconds * 1_000 - now();
  };
}

function bytesOf(decision: Decision): number {
  if (decision.kind === 'allowed') return JSON.stringify(decision).length;
  const { body = '', headers = [] } = decision.reply ?? {};
  return body.length + JSON.stringify([headers, decision.metadata]).length;
}
