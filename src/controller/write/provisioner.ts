import { createHash } from 'node:crypto';
import type { Counter, Logger, Metrics } from '../../telemetry/index.ts';
import { patchTypes, type KubeApi } from '../api/api.ts';
import { ApiError, isConflict, isNotFound } from '../api/apiError.ts';
import { keyOfObject, type KubeObject, type OwnerReference } from '../api/object.ts';
import { apiVersionOf, pathOf, type Resource } from '../api/resource.ts';
import type { Objects } from '../watch/store.ts';

export const fieldManager = 'portcullis';
/** On everything that is provisioned; the watches of provisioned kinds select by it. */
export const managedByLabel = { 'app.kubernetes.io/managed-by': 'portcullis' } as const;
export const managedBySelector = 'app.kubernetes.io/managed-by=portcullis';

/** Was it made here, for whatever owner? */
export const isProvisioned = ({ metadata }: KubeObject): boolean =>
  Object.entries(managedByLabel).every(([name, value]) => metadata.labels?.[name] === value);

export interface ProvisionedKind {
  readonly resource: Resource;
  /** The objects of this kind that carry the label. */
  readonly objects: Objects<KubeObject>;
}

export interface ProvisionerOptions {
  readonly api: KubeApi;
  /** Every kind that is ever provisioned: what is not wanted any more is looked for in all of them. */
  readonly kinds: readonly ProvisionedKind[];
  /** Whether this process may write now: only the leader does. */
  readonly mayWrite: () => boolean;
  /** Whether what is there was made by another installation of this controller than what is wanted. */
  readonly isOfAnother?: (present: KubeObject, wanted: KubeObject) => boolean;
  /** Whether what belongs to the owner, and is not wanted, may be deleted; everything may unless given. */
  readonly mayDelete?: (present: KubeObject) => boolean;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** The reason why an object is not as wanted, for the status of its owner. */
export interface ProvisionProblem {
  /** `Deployment ns/name`. */
  readonly object: string;
  readonly message: string;
}

/** The server's version of an object, to tell whether it was changed since. */
interface Applied {
  readonly hash: string;
  readonly uid: string;
  readonly mark: string;
}

/**
 * Makes objects that belong to an owner: applies those that are wanted (server-side apply, so that fields which others
 * set stay theirs), deletes those that are not wanted any more. When the owner goes, the cluster deletes them all.
 */
export class Provisioner {
  readonly #options: ProvisionerOptions;
  readonly #writes: Counter;
  readonly #applied = new Map<string, Applied>();

  constructor(options: ProvisionerOptions) {
    this.#options = options;
    this.#writes = options.metrics.counter('kube_provision_writes_total', 'Provisioned objects written', [
      'kind',
      'result',
    ]);
  }

  /**
   * @param wanted All objects that the owner ought to have, in its namespace, in the order in which they are applied.
   * @returns what cannot be had as long as nothing changes
   * @throws ApiError and errors of the network: what may work the next time
   */
  async reconcile(
    owner: KubeObject,
    wanted: readonly KubeObject[],
    signal?: AbortSignal,
  ): Promise<readonly ProvisionProblem[]> {
    const problems: ProvisionProblem[] = [];
    const reference = referenceTo(owner);
    for (const object of wanted) {
      if (!this.#options.mayWrite()) return problems;
      const message = await this.#apply(withOwner(object, owner, reference), reference.uid, signal);
      if (message !== undefined) problems.push({ object: nameOf(object), message });
    }
    await this.#prune(owner, reference.uid, new Set(wanted.map(nameOf)), signal);
    return problems;
  }

  /** Applies an object unless it is as it was applied before; returns why it cannot be. */
  async #apply(object: KubeObject, owner: string, signal?: AbortSignal): Promise<string | undefined> {
    const { api, log } = this.#options;
    const { resource, objects } = this.#kindOf(object);
    const { namespace, name } = object.metadata;
    const key = nameOf(object);
    const hash = createHash('sha256').update(JSON.stringify(object)).digest('base64');
    const place = pathOf(resource, { namespace, name });
    const known = objects.get(namespace, name);
    const applied = this.#applied.get(key);
    if (known !== undefined && isAsApplied(known, applied, hash)) return undefined;
    // We have had our say; putting it back again and again would be a fight that no proxy survives.
    if (
      known !== undefined &&
      applied?.hash === hash &&
      this.#options.isOfAnother?.(known, object) === true
    ) {
      log.warn('Object taken over by another installation with the same controller name', { object: key });
      return undefined;
    }
    // An object without our label is in no store: the first time, the server is asked whether the name is taken.
    const current = known ?? (await this.#read(place, signal));
    if (current !== undefined && !isOwnedBy(current, owner))
      return 'an object of this name belongs to another';
    try {
      const answer = await api.request({
        method: 'PATCH',
        path: place,
        query: { fieldManager, force: true },
        contentType: patchTypes.apply,
        body: object,
        ...(signal === undefined ? {} : { signal }),
      });
      this.#applied.set(key, { hash, ...markOf(answer as KubeObject) });
      this.#writes.add({ kind: object.kind, result: 'applied' });
      log.info('Object applied', { object: key });
      return undefined;
    } catch (error) {
      this.#writes.add({ kind: object.kind, result: 'failed' });
      if (!isFinal(error)) throw error;
      return error.message;
    }
  }

  async #prune(
    owner: KubeObject,
    uid: string,
    wanted: ReadonlySet<string>,
    signal?: AbortSignal,
  ): Promise<void> {
    const { api, kinds, mayWrite, mayDelete = () => true, log } = this.#options;
    for (const { resource, objects } of kinds)
      for (const object of [...objects.inNamespace(owner.metadata.namespace ?? '')]) {
        const key = nameOf(object);
        if (wanted.has(key) || !isOwnedBy(object, uid) || object.metadata.deletionTimestamp !== undefined)
          continue;
        if (!mayDelete(object)) continue;
        if (!mayWrite()) return;
        const { namespace, name } = object.metadata;
        try {
          await api.request({
            method: 'DELETE',
            path: pathOf(resource, { namespace, name }),
            // Only this very object: another one of the name may stand there by now.
            body: { preconditions: { uid: object.metadata.uid }, propagationPolicy: 'Background' },
            ...(signal === undefined ? {} : { signal }),
          });
          log.info('Unwanted object deleted', { object: key });
          this.#writes.add({ kind: object.kind, result: 'deleted' });
        } catch (error) {
          if (!isNotFound(error) && !isConflict(error)) throw error;
        }
        this.#applied.delete(key);
      }
  }

  async #read(path: string, signal?: AbortSignal): Promise<KubeObject | undefined> {
    try {
      return (await this.#options.api.request({
        path,
        ...(signal === undefined ? {} : { signal }),
      })) as KubeObject;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  #kindOf(object: KubeObject): ProvisionedKind {
    const kind = this.#options.kinds.find(
      ({ resource }) => resource.kind === object.kind && apiVersionOf(resource) === object.apiVersion,
    );
    if (kind === undefined) throw new TypeError(`${object.apiVersion} ${object.kind} is not provisioned`);
    return kind;
  }
}

const nameOf = (object: KubeObject): string => `${object.kind} ${keyOfObject(object)}`;

function referenceTo({ apiVersion, kind, metadata }: KubeObject): OwnerReference {
  const { name, uid } = metadata;
  if (uid === undefined) throw new TypeError(`${kind} ${name} has no uid`);
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
}

function withOwner(object: KubeObject, owner: KubeObject, reference: OwnerReference): KubeObject {
  const { metadata } = object;
  // The cluster deletes at once what names an owner in another namespace.
  if (metadata.namespace !== owner.metadata.namespace)
    throw new TypeError(`${nameOf(object)} is not in the namespace of its owner`);
  return {
    ...object,
    metadata: {
      ...metadata,
      labels: { ...metadata.labels, ...managedByLabel },
      ownerReferences: [reference],
    },
  };
}

const isOwnedBy = ({ metadata }: KubeObject, uid: string): boolean =>
  metadata.ownerReferences?.some((reference) => reference.uid === uid) === true;

/** The generation counts changes of the spec only; kinds that have none change seldom. */
function markOf({ metadata }: KubeObject): { uid: string; mark: string } {
  const { uid = '', generation, resourceVersion = '' } = metadata;
  return { uid, mark: generation === undefined ? `v${resourceVersion}` : `g${String(generation)}` };
}

function isAsApplied(known: KubeObject, applied: Applied | undefined, hash: string): boolean {
  if (applied === undefined || known.metadata.deletionTimestamp !== undefined) return false;
  const { uid, mark } = markOf(known);
  return applied.hash === hash && applied.uid === uid && applied.mark === mark;
}

/** The server will say the same again: the object is wrong, or we may not. */
const isFinal = (error: unknown): error is ApiError =>
  error instanceof ApiError && [400, 403, 404, 405, 413, 422].includes(error.status);
