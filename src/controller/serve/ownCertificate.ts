import { X509Certificate } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../stream/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { KubeObject } from '../api/object.ts';
import type { Identity } from './certificate.ts';
import { Poller, type PollerPace } from './poller.ts';
import { maintained, trustOf, type Material } from './material.ts';
import { entriesOf, OwnSecret, type OwnSecretOptions } from './ownSecret.ts';

export interface OwnCertificateOptions extends OwnSecretOptions, PollerPace {
  /** Hosts and addresses that controllers are reached by. */
  readonly names: readonly string[];
  /** Whether this process may write now: only the leader does. */
  readonly mayWrite: () => boolean;
  /** The first time, and at every change. */
  readonly onMaterial: (material: Material) => void;
  readonly log: Logger;
  readonly clock?: Clock;
  readonly now?: () => Date;
}

/**
 * The certificate that controllers show to proxies, and the authority behind it: in a Secret of their own namespace,
 * made and renewed by the leader, used by all.
 */
export class OwnCertificate {
  private readonly options: OwnCertificateOptions;
  private readonly secret: OwnSecret;
  private readonly poller: Poller;
  private material: Material | undefined;

  constructor(options: OwnCertificateOptions) {
    const { namespace, secretName } = options;
    this.options = options;
    this.secret = new OwnSecret(options);
    this.poller = new Poller({
      ...options,
      poll: async (signal) => await this.poll(signal),
      mayWait: (failed) => this.material !== undefined && !failed,
      failureMessage: 'Controller Secret could not be read or written',
      fields: { secret: `${namespace}/${secretName}` },
    });
  }

  async close(): Promise<void> {
    await this.poller.close();
  }

  private async poll(signal: AbortSignal): Promise<void> {
    const { mayWrite, names, now = () => new Date(), log } = this.options;
    const secret = await this.secret.read(signal);
    const found = materialIn(secret);
    if (secret !== undefined && found === undefined)
      log.warn('Controller Secret rejected', { leader: mayWrite() });
    let material = found;
    if (mayWrite()) {
      const wanted = maintained(found, names, now());
      if (wanted !== found) {
        // Another writer came first: the next look decides.
        if (!(await this.secret.write(dataOf(wanted), secret, signal))) return;
        log.info('Controller certificate issued', {
          authority: wanted.authority !== found?.authority,
        });
        material = wanted;
      }
    }
    if (material === undefined || isDeepStrictEqual(material, this.material)) return;
    this.material = material;
    this.options.onMaterial(material);
  }
}

function dataOf(material: Material): Record<string, string> {
  const { authority, next, former, server } = material;
  const texts = {
    'tls.crt': server.cert,
    'tls.key': server.key,
    'ca.crt': trustOf(material),
    'authority.crt': authority.cert,
    'authority.key': authority.key,
    ...(next === undefined ? {} : { 'next.crt': next.cert, 'next.key': next.key }),
    ...(former.length === 0 ? {} : { 'former.crt': former.join('') }),
  };
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [name, Buffer.from(text).toString('base64')]),
  );
}

/** Undefined where it cannot be read. */
function materialIn(secret: KubeObject | undefined): Material | undefined {
  const data = entriesOf(secret);
  const text = (name: string): string | undefined => {
    const value = data[name];
    return typeof value === 'string' ? Buffer.from(value, 'base64').toString('utf8') : undefined;
  };
  const identity = (name: string): Identity | undefined => {
    const [cert, key] = [text(`${name}.crt`), text(`${name}.key`)];
    return cert === undefined || key === undefined ? undefined : { cert, key };
  };
  const authority = identity('authority');
  const server = identity('tls');
  if (authority === undefined || server === undefined) return undefined;
  const next = identity('next');
  const former =
    text('former.crt')?.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----\n?/g) ?? [];
  const material: Material = { authority, former, server, ...(next === undefined ? {} : { next }) };
  try {
    // A replica that only reads must not show, or trust, a certificate that cannot be parsed.
    for (const cert of [authority.cert, server.cert, ...former]) new X509Certificate(cert);
    return material;
  } catch {
    return undefined;
  }
}
