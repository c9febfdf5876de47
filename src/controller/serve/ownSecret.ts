import type { KubeApi } from '../api/api.ts';
import { isConflict, isNotFound } from '../api/apiError.ts';
import { isRecord, type KubeObject } from '../api/object.ts';
import { pathOf, type Resource } from '../api/resource.ts';

const secrets: Resource = { group: '', version: 'v1', plural: 'secrets', kind: 'Secret', namespaced: true };

export interface OwnSecretOptions {
  readonly api: Pick<KubeApi, 'request'>;
  readonly namespace: string;
  readonly secretName: string;
}

/** A Secret that controllers have for themselves: made by the leader, used by all. */
export class OwnSecret {
  private readonly options: OwnSecretOptions;

  constructor(options: OwnSecretOptions) {
    this.options = options;
  }

  /** Undefined where there is none. */
  async read(signal: AbortSignal): Promise<KubeObject | undefined> {
    const { api, namespace, secretName: name } = this.options;
    try {
      return (await api.request({ path: pathOf(secrets, { namespace, name }), signal })) as KubeObject;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /**
   * @param data in base64
   * @param before what was read; undefined makes a new one
   * @returns false where another was faster
   */
  async write(
    data: Readonly<Record<string, string>>,
    before: KubeObject | undefined,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { api, namespace, secretName: name } = this.options;
    // With the version that was read, so that nobody's later word is lost.
    const metadata = { ...before?.metadata, name, namespace };
    const body = { apiVersion: 'v1', kind: 'Secret', type: 'Opaque', metadata, data };
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

/** The entries of a Secret, in base64. */
export const entriesOf = (secret: KubeObject | undefined): Readonly<Record<string, unknown>> =>
  isRecord(secret?.['data']) ? secret['data'] : {};
