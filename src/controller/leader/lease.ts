import type { KubeApi } from '../api/api.ts';
import { isConflict, isNotFound } from '../api/apiError.ts';
import { isRecord } from '../api/object.ts';
import { pathOf, type Resource } from '../api/resource.ts';

export const leaseResource: Resource = {
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
  namespaced: true,
};

/** The content of a Lease. Empty holder: it was given back. */
export interface LeaseSpec {
  readonly holderIdentity: string;
  readonly leaseDurationSeconds: number;
  /** Times of the holder's clock, for people to read: nobody compares them with another clock. */
  readonly acquireTime: string;
  readonly renewTime: string;
  readonly leaseTransitions: number;
}

export interface Lease {
  readonly spec: LeaseSpec;
  readonly resourceVersion: string;
}

/** The Lease object in the cluster. */
export class LeaseFile {
  readonly #api: KubeApi;
  readonly #namespace: string;
  readonly #name: string;
  readonly #timeoutMs: number;

  /** @param timeoutMs For one request: a lease is lost while we wait for an answer. */
  constructor(api: KubeApi, namespace: string, name: string, timeoutMs: number) {
    this.#api = api;
    this.#namespace = namespace;
    this.#name = name;
    this.#timeoutMs = timeoutMs;
  }

  /** Undefined where there is none yet. */
  async read(signal: AbortSignal): Promise<Lease | undefined> {
    try {
      return this.#lease(await this.#call('GET', this.#name, undefined, signal));
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /**
   * Writes the lease, if it is still as it was read; undefined where somebody else was faster.
   *
   * @param before What was read; undefined makes a new one.
   */
  async write(spec: LeaseSpec, before: Lease | undefined, signal: AbortSignal): Promise<Lease | undefined> {
    const object = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: leaseResource.kind,
      metadata: {
        name: this.#name,
        namespace: this.#namespace,
        ...(before === undefined ? {} : { resourceVersion: before.resourceVersion }),
      },
      spec,
    };
    try {
      const answer =
        before === undefined
          ? await this.#call('POST', undefined, object, signal)
          : await this.#call('PUT', this.#name, object, signal);
      return this.#lease(answer);
    } catch (error) {
      // Conflict: changed meanwhile, or made by another. Not found: deleted meanwhile.
      if (isConflict(error) || isNotFound(error)) return undefined;
      throw error;
    }
  }

  async #call(
    method: 'GET' | 'POST' | 'PUT',
    name: string | undefined,
    body: unknown,
    signal: AbortSignal,
  ): Promise<unknown> {
    return await this.#api.request({
      method,
      path: pathOf(leaseResource, { namespace: this.#namespace, ...(name === undefined ? {} : { name }) }),
      body,
      signal,
      timeoutMs: this.#timeoutMs,
    });
  }

  #lease(value: unknown): Lease {
    const metadata = isRecord(value) ? value['metadata'] : undefined;
    const version = isRecord(metadata) ? metadata['resourceVersion'] : undefined;
    if (typeof version !== 'string') throw new Error('a Lease has no resourceVersion');
    const spec = isRecord(value) && isRecord(value['spec']) ? value['spec'] : {};
    const text = (field: string): string => (typeof spec[field] === 'string' ? spec[field] : '');
    const number = (field: string): number => (typeof spec[field] === 'number' ? spec[field] : 0);
    return {
      resourceVersion: version,
      spec: {
        holderIdentity: text('holderIdentity'),
        leaseDurationSeconds: number('leaseDurationSeconds'),
        acquireTime: text('acquireTime'),
        renewTime: text('renewTime'),
        leaseTransitions: number('leaseTransitions'),
      },
    };
  }
}

/** The API's MicroTime. */
export const microTime = (date: Date): string => date.toISOString().replace('Z', '000Z');
