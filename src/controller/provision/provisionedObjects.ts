import type { Logger } from '../../telemetry/index.ts';
import type { KubeApi } from '../api/api.ts';
import { isRecord, type KubeObject, type ObjectMeta } from '../api/object.ts';
import { resourceName } from '../api/resource.ts';
import { limitOf } from '../translate/index.ts';
import { Informer } from '../watch/informer.ts';
import type { WatchPace } from '../watch/listWatch.ts';
import { trimMetadata } from '../watch/trim.ts';
import type { WatchMetrics } from '../watch/watchMetrics.ts';
import { managedBySelector, type ProvisionedKind } from '../write/provisioner.ts';
import { provisionedResources } from './kinds.ts';

export interface ProvisionedObjectsOptions {
  readonly api: KubeApi;
  readonly namespaces?: readonly string[] | undefined;
  readonly log: Logger;
  readonly metrics: WatchMetrics;
  readonly pace?: WatchPace | undefined;
}

/** A tenant can give a ConfigMap our label: the controller keeps no more of it than it writes itself. */
function trimMade(object: KubeObject): KubeObject {
  const made = trimMetadata(object);
  if (made.kind !== 'ConfigMap') return made;
  const { apiVersion, kind, metadata, data } = made;
  const authorities = isRecord(data) ? data['ca.crt'] : undefined;
  const isOurs = typeof authorities === 'string' && authorities.length <= limitOf('ca.crt');
  return { apiVersion, kind, metadata, data: isOurs ? { 'ca.crt': authorities } : {} };
}

/** The serving objects of one name. */
export type Serving = Readonly<Record<'deployment' | 'service', KubeObject | undefined>>;

const isOwnedBy = ({ metadata }: KubeObject, uid: string | undefined): boolean =>
  metadata.ownerReferences?.some((owner) => owner.uid === uid) === true;

/** All existing objects that the controller has made. */
export class ProvisionedObjects {
  /** True when every kind is known for the first time; false when it is closed before. */
  readonly synced: Promise<boolean>;
  readonly #informers: readonly Informer<KubeObject>[];

  constructor({ api, namespaces, log, metrics, pace }: ProvisionedObjectsOptions) {
    this.#informers = provisionedResources.map(
      (resource) =>
        new Informer<KubeObject>({
          api,
          resource,
          name: `proxies/${resourceName(resource)}`,
          namespaces,
          labelSelector: managedBySelector,
          trim: trimMade,
          log,
          metrics,
          ...(pace === undefined ? {} : { pace }),
        }),
    );
    this.synced = Promise.all(this.#informers.map(async ({ synced }) => await synced)).then((known) =>
      known.every(Boolean),
    );
  }

  /** Kinds that are not known yet. */
  get missing(): readonly string[] {
    return this.#informers.filter(({ isSynced }) => !isSynced).map(({ resource }) => resource.kind);
  }

  get kinds(): readonly ProvisionedKind[] {
    return this.#informers.map(({ resource, objects }) => ({ resource, objects }));
  }

  /** @param seen gets objects that have changed: by us, by the cluster, or by somebody who ought not to */
  onChange(seen: (objects: readonly KubeObject[]) => void): void {
    for (const { objects } of this.#informers)
      objects.onChange((changes) => seen(changes.map(({ object }) => object)));
  }

  /** The Deployment and Service of an owner: those of another owner serve another. */
  servingOf({ namespace, uid }: Pick<ObjectMeta, 'namespace' | 'uid'>, name: string): Serving {
    const find = (kind: string): KubeObject | undefined => {
      const object = this.#ofKind(kind)?.objects.get(namespace, name);
      return object !== undefined && isOwnedBy(object, uid) ? object : undefined;
    };
    return { deployment: find('Deployment'), service: find('Service') };
  }

  /** Has an owner any Deployment or Service? */
  serves({ namespace = '', uid }: Pick<ObjectMeta, 'namespace' | 'uid'>): boolean {
    return ['Deployment', 'Service'].some((kind) =>
      [...(this.#ofKind(kind)?.objects.inNamespace(namespace) ?? [])].some((object) =>
        isOwnedBy(object, uid),
      ),
    );
  }

  #ofKind(kind: string): Informer<KubeObject> | undefined {
    return this.#informers.find(({ resource }) => resource.kind === kind);
  }

  async close(): Promise<void> {
    await Promise.all(this.#informers.map(async (informer) => await informer.close()));
  }
}
