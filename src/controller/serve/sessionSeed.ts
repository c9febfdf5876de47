import { hkdfSync, randomBytes } from 'node:crypto';
import type { Logger } from '../../telemetry/index.ts';
import type { KubeObject } from '../api/object.ts';
import { entriesOf, OwnSecret, type OwnSecretOptions } from './ownSecret.ts';
import { Poller, type PollerPace } from './poller.ts';

/** Its Secret lies in the namespace of the controller. */
export interface SessionSeedOptions extends OwnSecretOptions, PollerPace {
  /** Whether this process may write now: only the leader does. */
  readonly mayWrite: () => boolean;
  /** The first time, and at every change. */
  readonly onSeed: () => void;
  readonly log: Logger;
}

const entry = 'seed';
const seedBytes = 32;

/**
 * The seed of the session keys of all Gateways: the proxies of a Gateway must share their keys, across restarts
 * of themselves and of controllers. It lies in a Secret of the controller's namespace, made by the leader; one
 * Secret for each Gateway would take the right to write Secrets everywhere, tokens of ServiceAccounts among them.
 */
export class SessionSeed {
  private readonly options: SessionSeedOptions;
  private readonly secret: OwnSecret;
  private readonly poller: Poller;
  private seed: Buffer | undefined;
  /** The Secret holds what is in use, as far as this process has to see to it. */
  private settled = false;

  constructor(options: SessionSeedOptions) {
    const { namespace, secretName } = options;
    this.options = options;
    this.secret = new OwnSecret(options);
    this.poller = new Poller({
      ...options,
      poll: async (signal) => await this.poll(signal),
      mayWait: () => this.settled,
      failureMessage: 'Session key Secret could not be read or written',
      fields: { secret: `${namespace}/${secretName}` },
    });
  }

  get isKnown(): boolean {
    return this.seed !== undefined;
  }

  /**
   * The key of a Gateway, 64 hex digits; undefined while the seed is not known. From it no other one can be worked out.
   * @param gateway `namespace/name`
   */
  keyOf(gateway: string): string | undefined {
    return this.derived(`portcullis sessions\n${gateway}`);
  }

  /**
   * The key that proxies show to the pod of a target, 64 hex digits; undefined while the seed is not known.
   * @param pod `namespace/name/target` of the McpBackend
   */
  podKeyOf(pod: string): string | undefined {
    return this.derived(`portcullis mcp pods\n${pod}`);
  }

  private derived(purpose: string): string | undefined {
    if (this.seed === undefined) return undefined;
    return Buffer.from(hkdfSync('sha256', this.seed, '', purpose, 32)).toString('hex');
  }

  async close(): Promise<void> {
    await this.poller.close();
  }

  private async poll(signal: AbortSignal): Promise<void> {
    const { namespace, secretName, mayWrite, onSeed, log } = this.options;
    const secret = await this.secret.read(signal);
    const found = seedIn(secret);
    if (found === undefined) {
      if (!mayWrite()) return;
      // The next look decides what it is: another leader may have been faster. Until then the seed that is known stays in
      // use: without one, no model is sent, and where the Secret cannot be written, that may take long.
      this.settled = false;
      const data = { [entry]: randomBytes(seedBytes).toString('base64') };
      if (await this.secret.write(data, secret, signal))
        log.info('Session key seed created', { secret: `${namespace}/${secretName}` });
      return;
    }
    this.settled = true;
    if (this.seed?.equals(found) === true) return;
    this.seed = found;
    onSeed();
  }
}

/** Undefined where it cannot be used. */
function seedIn(secret: KubeObject | undefined): Buffer | undefined {
  const value = entriesOf(secret)[entry];
  const seed = typeof value === 'string' ? Buffer.from(value, 'base64') : undefined;
  return seed !== undefined && seed.length >= seedBytes ? seed : undefined;
}
