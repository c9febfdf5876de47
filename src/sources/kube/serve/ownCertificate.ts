import { X509Certificate } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from '../../../telemetry/index.ts';
import type { KubeApi } from '../api/api.ts';
import { isConflict, isNotFound } from '../api/apiError.ts';
import { isRecord, type KubeObject } from '../api/object.ts';
import { pathOf, type Resource } from '../api/resource.ts';
import { pause, systemClock, type Clock } from '../work/clock.ts';
import type { Identity } from './certificate.ts';
import { maintained, trustOf, type Material } from './material.ts';

export interface OwnCertificateOptions {
  readonly api: Pick<KubeApi, 'request'>;
  /** Where its Secret lies. */
  readonly namespace: string;
  readonly secretName: string;
  /** Hosts and addresses that controllers are reached by. */
  readonly names: readonly string[];
  /** Whether this process may write now: only the leader does. */
  readonly mayWrite: () => boolean;
  /** The first time, and at every change. */
  readonly onMaterial: (material: Material) => void;
  readonly log: Logger;
  /** Milliseconds between two looks, and while there is nothing yet. */
  readonly lookMs?: number;
  readonly hurryMs?: number;
  readonly clock?: Clock;
  readonly now?: () => Date;
}

const secrets: Resource = { group: '', version: 'v1', plural: 'secrets', kind: 'Secret', namespaced: true };

/**
 * The certificate that controllers show to proxies, and the authority behind it: in a Secret of their own namespace,
 * made and renewed by the leader, used by all.
 */
export class OwnCertificate {
  private readonly options: Required<OwnCertificateOptions>;
  private readonly ended = new AbortController();
  private readonly done: Promise<void>;
  private material: Material | undefined;

  constructor(options: OwnCertificateOptions) {
    this.options = {
      lookMs: 60_000,
      hurryMs: 1_000,
      clock: systemClock,
      now: () => new Date(),
      ...options,
    };
    this.done = this.run();
  }

  async close(): Promise<void> {
    this.ended.abort();
    await this.done;
  }

  /** Never rejects. */
  private async run(): Promise<void> {
    const { clock, lookMs, hurryMs, log } = this.options;
    const { signal } = this.ended;
    let failed = false;
    while (!signal.aborted) {
      try {
        await this.look(signal);
        failed = false;
      } catch (error) {
        if (!signal.aborted && !failed)
          log.warn('the Secret of the controller cannot be read or written', {
            secret: `${this.options.namespace}/${this.options.secretName}`,
            reason: error instanceof Error ? error.message : String(error),
          });
        failed = true;
      }
      await pause(clock, this.material === undefined || failed ? hurryMs : lookMs, signal);
    }
  }

  private async look(signal: AbortSignal): Promise<void> {
    const { mayWrite, names, now, log } = this.options;
    const secret = await this.read(signal);
    const found = materialIn(secret);
    if (secret !== undefined && found === undefined)
      log.warn('the Secret of the controller cannot be used', { leader: mayWrite() });
    let material = found;
    if (mayWrite()) {
      const wanted = maintained(found, names, now());
      if (wanted !== found) {
        // Somebody else wrote between: the next look decides.
        if (!(await this.write(wanted, secret, signal))) return;
        log.info('the certificate of the controller is new', {
          authority: wanted.authority !== found?.authority,
        });
        material = wanted;
      }
    }
    if (material === undefined || isDeepStrictEqual(material, this.material)) return;
    this.material = material;
    this.options.onMaterial(material);
  }

  private async read(signal: AbortSignal): Promise<KubeObject | undefined> {
    const { api, namespace, secretName: name } = this.options;
    try {
      return (await api.request({ path: pathOf(secrets, { namespace, name }), signal })) as KubeObject;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** @returns false where another was faster */
  private async write(
    material: Material,
    before: KubeObject | undefined,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { api, namespace, secretName: name } = this.options;
    const resourceVersion = before?.metadata.resourceVersion;
    const body = {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'Opaque',
      metadata: {
        ...before?.metadata,
        name,
        namespace,
        ...(resourceVersion === undefined ? {} : { resourceVersion }),
      },
      data: dataOf(material),
    };
    try {
      await api.request(
        before === undefined
          ? { method: 'POST', path: pathOf(secrets, { namespace }), body, signal }
          : { method: 'PUT', path: pathOf(secrets, { namespace, name }), body, signal },
      );
      return true;
    } catch (error) {
      if (isConflict(error)) return false;
      throw error;
    }
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
  const data = isRecord(secret?.['data']) ? secret['data'] : {};
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
    // Who only reads must not show, or trust, what nobody can read.
    for (const cert of [authority.cert, server.cert, ...former]) new X509Certificate(cert);
    return material;
  } catch {
    return undefined;
  }
}
