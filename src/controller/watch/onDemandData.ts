import { messageOf } from '../../errorText.ts';
import type { Logger } from '../../telemetry/index.ts';
import { keyOfObject, isRecord, type KubeObject } from '../api/object.ts';
import type { KubeApi } from '../api/api.ts';
import { pathOf, type Resource } from '../api/resource.ts';
import { readItem } from './events.ts';
import type { Objects } from './store.ts';
import type { Trim } from './trim.ts';

/** The followed objects of a kind with data. */
export interface DataKind {
  readonly resource: Resource;
  readonly trim: Trim<KubeObject>;
  readonly informer: {
    readonly objects: Objects<KubeObject>;
    swap(object: KubeObject): void;
  };
}

export interface OnDemandDataOptions {
  readonly api: KubeApi;
  readonly log: Logger;
  /** Bytes that the data of a namespace may take together. */
  readonly budget: number;
  /** The held data has changed, or cannot be had for now. */
  readonly onChange: () => void;
  readonly retryMs?: number;
}

interface Wanted {
  readonly key: string;
  readonly object: KubeObject;
  readonly kind: DataKind;
}

/** Requests at the same time. */
const atOnce = 8;
const maxItemBytes = 16 << 20;

/**
 * The data of Secrets and ConfigMaps: of all that a cluster has, only what a translation asks for is in memory. Of the
 * others no more is known than that they are there; what is asked for later is read then.
 */
export class OnDemandData {
  readonly #options: OnDemandDataOptions;
  readonly #ended = new AbortController();
  readonly #kinds: DataKind[] = [];
  /** By kind and `namespace/name`. */
  #wanted: ReadonlySet<string> = new Set();
  #overBudget: ReadonlySet<string> = new Set();
  /** Objects to read, in their order; each leaves when it has been read. */
  readonly #due = new Map<string, () => Promise<void>>();
  /** Objects that could not be read: no translation waits for them. */
  readonly #failed = new Set<string>();
  /** Unreadable objects that are not to be tried again just now. */
  readonly #resting = new Set<string>();
  readonly #reading = new Set<string>();
  /** Objects that were due when data was wanted for the first time, and had no answer yet; undefined before. */
  #first: Set<string> | undefined;
  #retry: NodeJS.Timeout | undefined;

  constructor(options: OnDemandDataOptions) {
    this.#options = options;
  }

  /** The part of an object that is kept when the watch brings it. */
  trimmed(object: KubeObject): KubeObject {
    const key = keyFor(object.kind, keyOfObject(object));
    if (sizeOf(object) === 0) return object;
    if (this.#overBudget.has(key)) return without(object, 'overBudget');
    return this.#wanted.has(key) ? object : without(object, 'unread');
  }

  follow(kind: DataKind): void {
    this.#kinds.push(kind);
  }

  /**
   * From now on these are wanted, and no others. `onChange` tells when those that have to be read are here.
   * @param asked `namespace/name`, by kind
   */
  want(asked: ReadonlyMap<string, ReadonlySet<string>>): void {
    this.#wanted = new Set(
      [...asked].flatMap(([kind, names]) => Array.from(names, (name) => keyFor(kind, name))),
    );
    const byNamespace = new Map<string, Wanted[]>();
    for (const kind of this.#kinds)
      for (const object of kind.informer.objects.list()) {
        const key = keyFor(object.kind, keyOfObject(object));
        if (sizeOf(object) === 0) continue;
        if (!this.#wanted.has(key)) {
          if (object['withheld'] !== 'unread') kind.informer.swap(without(object, 'unread'));
          continue;
        }
        const namespace = object.metadata.namespace ?? '';
        const others = byNamespace.get(namespace);
        if (others === undefined) byNamespace.set(namespace, [{ key, object, kind }]);
        else others.push({ key, object, kind });
      }
    const isOther = this.#choose(byNamespace.values());
    for (const key of this.#failed) if (!this.#due.has(key)) this.#failed.delete(key);
    this.#first ??= new Set(this.#due.keys());
    for (const key of this.#first) if (!this.#due.has(key)) this.#first.delete(key);
    this.#read();
    if (isOther) this.#options.onChange();
  }

  /**
   * Has some of the data that was wanted first had no answer yet? This ends, however long it takes: what is wanted later
   * does not count.
   */
  get isStarting(): boolean {
    return this.#first === undefined || this.#first.size > 0;
  }

  get #isAwaited(): boolean {
    return [...this.#due.keys()].some((key) => !this.#failed.has(key));
  }

  close(): void {
    this.#ended.abort();
    clearTimeout(this.#retry);
    this.#due.clear();
  }

  /**
   * Decides for each namespace what it can have in memory: the same at every controller, whatever came first.
   * @returns whether there is less than before
   */
  #choose(namespaces: Iterable<readonly Wanted[]>): boolean {
    const overBudget = new Set<string>();
    const due = new Set<string>();
    let isOther = false;
    for (const wanted of namespaces) {
      let left = this.#options.budget;
      for (const { key, object, kind } of wanted.toSorted((a, b) => (a.key < b.key ? -1 : 1))) {
        left -= sizeOf(object);
        if (left < 0) {
          overBudget.add(key);
          if (object['withheld'] === 'overBudget') continue;
          kind.informer.swap(without(object, 'overBudget'));
          isOther = true;
        } else if (object['withheld'] !== undefined) {
          due.add(key);
          if (!this.#due.has(key)) this.#due.set(key, async () => await this.#readOne(kind, object));
        }
      }
    }
    this.#overBudget = overBudget;
    for (const key of this.#due.keys()) if (!due.has(key)) this.#due.delete(key);
    return isOther;
  }

  #read(): void {
    for (const [key, read] of this.#due) {
      if (this.#reading.size >= atOnce || this.#ended.signal.aborted) return;
      if (!this.#resting.has(key) && !this.#reading.has(key)) void this.#readNext(key, read);
    }
  }

  /** Never rejects. */
  async #readNext(key: string, read: () => Promise<void>): Promise<void> {
    this.#reading.add(key);
    try {
      await read();
      this.#due.delete(key);
      this.#failed.delete(key);
    } catch (error) {
      if (this.#due.has(key)) this.#fails(key, error);
    }
    this.#reading.delete(key);
    const isLastOfFirst = this.#first?.delete(key) === true && this.#first.size === 0;
    if (this.#ended.signal.aborted) return;
    this.#read();
    if (isLastOfFirst || !this.#isAwaited) this.#options.onChange();
  }

  #fails(key: string, error: unknown): void {
    const { log, retryMs = 2_000 } = this.#options;
    this.#failed.add(key);
    this.#resting.add(key);
    log.warn('Object data could not be read; retrying', {
      object: key,
      reason: messageOf(error),
    });
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined;
      this.#resting.clear();
      this.#read();
    }, retryMs).unref();
  }

  /** By a list of one: the right to list is there already, and no other one is needed. */
  async #readOne({ resource, trim, informer }: DataKind, { metadata }: KubeObject): Promise<void> {
    const { namespace, name } = metadata;
    const found: KubeObject[] = [];
    await this.#options.api.list(
      {
        path: pathOf(resource, { namespace }),
        query: { fieldSelector: `metadata.name=${name}` },
        signal: this.#ended.signal,
      },
      maxItemBytes,
      (item) => void found.push(trim(readItem(item, resource))),
    );
    const [object] = found;
    if (object?.metadata.name !== name) throw new Error('the object no longer exists');
    // The watch may have brought a newer object meanwhile, which has its data.
    if (informer.objects.get(namespace, name)?.['withheld'] !== undefined) informer.swap(object);
  }
}

const keyFor = (kind: string, key: string): string => `${kind} ${key}`;

/** The size of its data, also where the data is not here. */
function sizeOf({ data, size }: KubeObject): number {
  if (typeof size === 'number') return size;
  if (!isRecord(data)) return 0;
  return Object.values(data).reduce<number>(
    (sum, value) => sum + (typeof value === 'string' ? Buffer.byteLength(value) : 0),
    0,
  );
}

function without(object: KubeObject, withheld: 'unread' | 'overBudget'): KubeObject {
  return { ...object, data: {}, size: sizeOf(object), withheld };
}
