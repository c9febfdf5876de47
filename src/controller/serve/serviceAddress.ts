import type { Logger } from '../../telemetry/index.ts';
import type { KubeApi } from '../api/api.ts';
import { isNotFound } from '../api/apiError.ts';
import { isRecord } from '../api/object.ts';
import { pathOf, type Resource } from '../api/resource.ts';
import { Poller, type PollerPace } from './poller.ts';

export interface ServiceAddressOptions extends PollerPace {
  readonly api: Pick<KubeApi, 'request'>;
  readonly namespace: string;
  readonly name: string;
  /** The first time, and at every change. */
  readonly onAddress: () => void;
  readonly log: Logger;
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
  private readonly options: ServiceAddressOptions;
  private readonly poller: Poller;
  private looked = false;
  private found: string | undefined;

  constructor(options: ServiceAddressOptions) {
    const { namespace, name } = options;
    this.options = options;
    this.poller = new Poller({
      ...options,
      poll: async (signal) => await this.poll(signal),
      mayWait: () => this.looked,
      failureMessage: 'Controller Service could not be read',
      fields: { service: `${namespace}/${name}` },
    });
  }

  /** It has been looked for: what is not known then is not there. */
  get isKnown(): boolean {
    return this.looked;
  }

  get address(): string | undefined {
    return this.found;
  }

  async close(): Promise<void> {
    await this.poller.close();
  }

  private async poll(signal: AbortSignal): Promise<void> {
    const { api, namespace, name, onAddress } = this.options;
    const address = addressIn(await read(api, namespace, name, signal));
    if (this.looked && address === this.found) return;
    this.looked = true;
    this.found = address;
    onAddress();
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
