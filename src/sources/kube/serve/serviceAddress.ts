import type { Logger } from '../../../telemetry/index.ts';
import type { KubeApi } from '../api/api.ts';
import { isNotFound } from '../api/apiError.ts';
import { isRecord } from '../api/object.ts';
import { pathOf, type Resource } from '../api/resource.ts';
import { pause, systemClock } from '../work/clock.ts';

export interface ServiceAddressOptions {
  readonly api: Pick<KubeApi, 'request'>;
  readonly namespace: string;
  readonly name: string;
  /** The first time, and at every change. */
  readonly onAddress: () => void;
  readonly log: Logger;
  /** Milliseconds between two looks, and while the first one has not succeeded. */
  readonly lookMs?: number;
  readonly hurryMs?: number;
}

export const services: Resource = {
  group: '',
  version: 'v1',
  plural: 'services',
  kind: 'Service',
  namespaced: true,
};

/** The address that the cluster has given to a Service: whoever knows it needs no DNS. */
export class ServiceAddress {
  private readonly options: Required<ServiceAddressOptions>;
  private readonly ended = new AbortController();
  private readonly done: Promise<void>;
  private looked = false;
  private found: string | undefined;

  constructor(options: ServiceAddressOptions) {
    this.options = { lookMs: 60_000, hurryMs: 1_000, ...options };
    this.done = this.run();
  }

  /** It has been looked for: what is not known then is not there. */
  get isKnown(): boolean {
    return this.looked;
  }

  get address(): string | undefined {
    return this.found;
  }

  async close(): Promise<void> {
    this.ended.abort();
    await this.done;
  }

  /** Never rejects. */
  private async run(): Promise<void> {
    const { api, namespace, name, onAddress, log, lookMs, hurryMs } = this.options;
    const { signal } = this.ended;
    let complained = false;
    while (!signal.aborted) {
      try {
        const address = addressIn(await read(api, namespace, name, signal));
        if (!this.looked || address !== this.found) {
          this.looked = true;
          this.found = address;
          onAddress();
        }
      } catch (error) {
        if (!signal.aborted && !complained)
          log.warn('the Service of the controller cannot be read', {
            service: `${namespace}/${name}`,
            reason: error instanceof Error ? error.message : String(error),
          });
        complained = true;
      }
      await pause(systemClock, this.looked ? lookMs : hurryMs, signal);
    }
  }
}

async function read(
  api: Pick<KubeApi, 'request'>,
  namespace: string,
  name: string,
  signal: AbortSignal,
): Promise<unknown> {
  try {
    return await api.request({ path: pathOf(services, { namespace, name }), signal });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

function addressIn(service: unknown): string | undefined {
  const spec = isRecord(service) && isRecord(service['spec']) ? service['spec'] : {};
  const { clusterIP } = spec;
  // A Service without an address of its own says `None`.
  return typeof clusterIP === 'string' && clusterIP !== '' && clusterIP !== 'None' ? clusterIP : undefined;
}
