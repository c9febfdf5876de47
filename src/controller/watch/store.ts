import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '../api/object.ts';

export type Change<T> =
  | { readonly type: 'added'; readonly object: T }
  | { readonly type: 'updated'; readonly object: T; readonly previous: T }
  | { readonly type: 'deleted'; readonly object: T };

/** The version counts every change; the new one is kept, since writes are made with it. */
const isSameContent = (a: KubeObject, b: KubeObject): boolean =>
  isDeepStrictEqual(withoutVersion(a), withoutVersion(b));

const withoutVersion = (object: KubeObject): object => ({
  ...object,
  metadata: { ...object.metadata, resourceVersion: '' },
});

/** Runs after the store holds the change. The changes of one list come together. */
export type Listener<T> = (changes: readonly Change<T>[]) => void;

/** The public view of a store. Objects are frozen in meaning: nobody changes them. */
export interface Objects<T extends KubeObject> {
  readonly size: number;
  /** The namespace of a kind without namespaces is undefined. */
  get(namespace: string | undefined, name: string): T | undefined;
  list(): Iterable<T>;
  inNamespace(namespace: string): Iterable<T>;
  /** Returns what ends it. */
  onChange(listener: Listener<T>): () => void;
}

/** The objects of a kind by namespace and name. */
export class Store<T extends KubeObject> implements Objects<T> {
  readonly #byNamespace = new Map<string, Map<string, T>>();
  readonly #listeners = new Set<Listener<T>>();
  readonly #onFailure: (error: unknown) => void;
  #size = 0;

  /** @param onFailure Told what a listener threw: one that fails must not end the watch. */
  constructor(onFailure: (error: unknown) => void) {
    this.#onFailure = onFailure;
  }

  get size(): number {
    return this.#size;
  }

  get(namespace: string | undefined, name: string): T | undefined {
    return this.#byNamespace.get(namespace ?? '')?.get(name);
  }

  *list(): Iterable<T> {
    for (const objects of this.#byNamespace.values()) yield* objects.values();
  }

  inNamespace(namespace: string): Iterable<T> {
    return this.#byNamespace.get(namespace)?.values() ?? [];
  }

  onChange(listener: Listener<T>): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** The object is now this; nobody is told where nothing that is kept of it has changed. */
  put(object: T): void {
    const change = this.#put(object);
    if (change !== undefined) this.#tell([change]);
  }

  /** Keeps another part of an object and tells no listener. Does nothing where the object is gone. */
  swap(object: T): void {
    const { namespace, name } = object.metadata;
    if (this.get(namespace, name) !== undefined) this.#byNamespace.get(namespace ?? '')?.set(name, object);
  }

  remove(namespace: string | undefined, name: string): void {
    const object = this.#remove(namespace, name);
    if (object !== undefined) this.#tell([{ type: 'deleted', object }]);
  }

  /**
   * These are all objects there are.
   *
   * @param namespace Where only the objects of one namespace are meant.
   */
  replace(objects: readonly T[], namespace?: string): void {
    const changes: Change<T>[] = [];
    const present = new Set<string>();
    for (const object of objects) {
      present.add(`${object.metadata.namespace ?? ''}/${object.metadata.name}`);
      const change = this.#put(object);
      if (change !== undefined) changes.push(change);
    }
    const old = namespace === undefined ? [...this.list()] : [...this.inNamespace(namespace)];
    for (const object of old) {
      const { metadata } = object;
      if (present.has(`${metadata.namespace ?? ''}/${metadata.name}`)) continue;
      this.#remove(metadata.namespace, metadata.name);
      changes.push({ type: 'deleted', object });
    }
    if (changes.length > 0) this.#tell(changes);
  }

  #put(object: T): Change<T> | undefined {
    const { namespace = '', name, resourceVersion } = object.metadata;
    const previous = this.get(namespace, name);
    if (previous !== undefined && resourceVersion !== undefined)
      if (previous.metadata.resourceVersion === resourceVersion) return undefined;
    let objects = this.#byNamespace.get(namespace);
    if (objects === undefined) this.#byNamespace.set(namespace, (objects = new Map<string, T>()));
    objects.set(name, object);
    if (previous !== undefined) {
      // Most of what changes in a busy cluster (heartbeats of nodes, for one) is in fields that are not kept.
      if (isSameContent(previous, object)) return undefined;
      return { type: 'updated', object, previous };
    }
    this.#size++;
    return { type: 'added', object };
  }

  #remove(namespace = '', name: string): T | undefined {
    const objects = this.#byNamespace.get(namespace);
    const object = objects?.get(name);
    if (objects === undefined || object === undefined) return undefined;
    objects.delete(name);
    if (objects.size === 0) this.#byNamespace.delete(namespace);
    this.#size--;
    return object;
  }

  #tell(changes: readonly Change<T>[]): void {
    for (const listener of this.#listeners)
      try {
        listener(changes);
      } catch (error) {
        this.#onFailure(error);
      }
  }
}
