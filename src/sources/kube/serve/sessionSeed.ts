import { hkdfSync, randomBytes } from 'node:crypto';
import type { Logger } from '../../../telemetry/index.ts';
import type { KubeApi } from '../api/api.ts';
import { isConflict, isNotFound } from '../api/apiError.ts';
import { isRecord } from '../api/object.ts';
import { pathOf, type Resource } from '../api/resource.ts';
import { pause, systemClock } from '../work/clock.ts';

export interface SessionSeedOptions {
  readonly api: Pick<KubeApi, 'request'>;
  /** Where its Secret lies: that of the controller. */
  readonly namespace: string;
  readonly secretName: string;
  /** Whether this process may write now: only the leader does. */
  readonly mayWrite: () => boolean;
  /** The first time, and at every change. */
  readonly onSeed: () => void;
  readonly log: Logger;
  /** Milliseconds between two looks, and while there is nothing yet. */
  readonly lookMs?: number;
  readonly hurryMs?: number;
}

const secrets: Resource = { group: '', version: 'v1', plural: 'secrets', kind: 'Secret', namespaced: true };
const entry = 'seed';
const seedBytes = 32;

/**
 * What the session keys of all Gateways are derived from: the proxies of one have to have theirs in common, across
 * restarts of themselves and of controllers. It lies in a Secret of the controller's namespace, made by the leader; one
 * Secret for each Gateway would take the right to write Secrets everywhere, tokens of ServiceAccounts among them.
 */
export class SessionSeed {
  private readonly options: Required<SessionSeedOptions>;
  private readonly ended = new AbortController();
  private readonly done: Promise<void>;
  private seed: Buffer | undefined;

  constructor(options: SessionSeedOptions) {
    this.options = { lookMs: 60_000, hurryMs: 1_000, ...options };
    this.done = this.run();
  }

  /**
   * The key of a Gateway, 64 hex digits; undefined while the seed is not known. From it no other one can be worked out.
   * @param gateway `namespace/name`
   */
  keyOf(gateway: string): string | undefined {
    return this.derived(`portcullis sessions\n${gateway}`);
  }

  /**
   * What proxies show to the pod of an McpBackend, 64 hex digits; undefined while the seed is not known.
   * @param backend `namespace/name`
   */
  podKeyOf(backend: string): string | undefined {
    return this.derived(`portcullis mcp pods\n${backend}`);
  }

  private derived(purpose: string): string | undefined {
    if (this.seed === undefined) return undefined;
    return Buffer.from(hkdfSync('sha256', this.seed, '', purpose, 32)).toString('hex');
  }

  async close(): Promise<void> {
    this.ended.abort();
    await this.done;
  }

  /** Never rejects. */
  private async run(): Promise<void> {
    const { log, lookMs, hurryMs, namespace, secretName } = this.options;
    const { signal } = this.ended;
    let failed = false;
    while (!signal.aborted) {
      try {
        await this.look(signal);
        failed = false;
      } catch (error) {
        if (!signal.aborted && !failed)
          log.warn('the Secret of the session keys cannot be read or written', {
            secret: `${namespace}/${secretName}`,
            reason: error instanceof Error ? error.message : String(error),
          });
        failed = true;
      }
      await pause(systemClock, this.seed === undefined && !failed ? hurryMs : lookMs, signal);
    }
  }

  private async look(signal: AbortSignal): Promise<void> {
    const { api, namespace, secretName: name, mayWrite, onSeed, log } = this.options;
    let secret: unknown;
    try {
      secret = await api.request({ path: pathOf(secrets, { namespace, name }), signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    const found = seedIn(secret);
    if (found === undefined) {
      if (!mayWrite()) return;
      // The next look decides what it is: another leader may have been faster.
      this.seed = undefined;
      await this.write(secret, signal);
      log.info('the seed of the session keys is made anew', { secret: `${namespace}/${name}` });
      return;
    }
    if (this.seed?.equals(found) === true) return;
    this.seed = found;
    onSeed();
  }

  private async write(before: unknown, signal: AbortSignal): Promise<void> {
    const { api, namespace, secretName: name } = this.options;
    const metadata = isRecord(before) && isRecord(before['metadata']) ? before['metadata'] : {};
    const body = {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'Opaque',
      metadata: { ...metadata, name, namespace },
      data: { [entry]: randomBytes(seedBytes).toString('base64') },
    };
    try {
      await api.request(
        before === undefined
          ? { method: 'POST', path: pathOf(secrets, { namespace }), body, signal }
          : { method: 'PUT', path: pathOf(secrets, { namespace, name }), body, signal },
      );
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
  }
}

/** Undefined where it cannot be used. */
function seedIn(secret: unknown): Buffer | undefined {
  const data = isRecord(secret) && isRecord(secret['data']) ? secret['data'] : {};
  const value = data[entry];
  const seed = typeof value === 'string' ? Buffer.from(value, 'base64') : undefined;
  return seed !== undefined && seed.length >= seedBytes ? seed : undefined;
}
