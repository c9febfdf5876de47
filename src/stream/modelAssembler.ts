import type { BackendAddress, Model } from '../model/index.ts';
import { versionOf } from './modelVersion.ts';
import { modelFrom, nameOfText, PartsBroken, type PartName } from './parts.ts';

/** A whole that has arrived. */
export interface ReceivedModel {
  readonly version: string;
  readonly root: PartName;
  /** Its backends name their addresses by key. */
  readonly model: Model;
  readonly endpoints: ReadonlyMap<string, readonly BackendAddress[]>;
  /** The lists that are not as they were in the whole before. */
  readonly changed: ReadonlyMap<string, readonly BackendAddress[]>;
}

/** The data that is kept for a restart. */
export interface CachedModel {
  readonly version: string;
  readonly root: PartName;
  readonly parts: readonly unknown[];
  readonly endpoints: readonly (readonly [string, readonly BackendAddress[]])[];
}

export interface ModelLimits {
  readonly maxParts: number;
  readonly maxEndpointLists: number;
}

interface List {
  readonly name: PartName;
  readonly addresses: readonly BackendAddress[];
}

/**
 * The parts and lists of addresses of its Gateway's model that a proxy has, as they came, and the model that they
 * make up. Names are worked out here from what came, never believed.
 */
export class ModelAssembler {
  private readonly limits: ModelLimits;
  private readonly parts = new Map<PartName, unknown>();
  private lists = new Map<string, List>();
  /** Lists that belong to the whole that is just arriving; undefined for those that are gone. */
  private arriving = new Map<string, List | undefined>();

  constructor(limits: ModelLimits) {
    this.limits = limits;
  }

  /** Names of all parts, and of the list for each key: what need not be sent again. */
  get inventory(): {
    readonly parts: readonly PartName[];
    readonly endpoints: readonly (readonly [string, PartName])[];
  } {
    return { parts: [...this.parts.keys()], endpoints: this.names(this.lists) };
  }

  /** @throws PartsBroken where there are too many */
  addPart(value: unknown): void {
    if (this.parts.size >= this.limits.maxParts) throw new PartsBroken('too many parts');
    this.parts.set(nameOfText(JSON.stringify(value)), value);
  }

  /** @throws PartsBroken where there are too many */
  addEndpoints(key: string, addresses: readonly BackendAddress[]): void {
    const isNew = !this.lists.has(key) && !this.arriving.has(key);
    if (isNew && this.lists.size + this.arriving.size >= this.limits.maxEndpointLists)
      throw new PartsBroken('too many lists of addresses');
    this.arriving.set(key, { name: nameOfText(JSON.stringify(addresses)), addresses });
  }

  dropEndpoints(key: string): void {
    this.arriving.set(key, undefined);
  }

  /** The stream was cut: parts stay, for they are what they are; lists belong to a whole that did not come. */
  cut(): void {
    this.arriving.clear();
  }

  /** Begins anew with nothing. */
  clear(): void {
    this.cut();
    this.parts.clear();
    this.lists.clear();
  }

  /**
   * Everything of a whole is here.
   * @throws PartsBroken where that is not so; what was before stays
   */
  complete(version: string, root: PartName): ReceivedModel {
    const lists = new Map(this.lists);
    const changed = new Map<string, readonly BackendAddress[]>();
    for (const [key, list] of this.arriving) {
      if (list === undefined) lists.delete(key);
      else lists.set(key, list);
      if (list?.name !== this.lists.get(key)?.name) changed.set(key, list?.addresses ?? []);
    }
    if (versionOf(root, this.names(lists)) !== version)
      throw new PartsBroken('what has arrived is not what was sent');
    const { model, used } = modelFrom(root, this.parts);
    for (const name of this.parts.keys()) if (!used.has(name)) this.parts.delete(name);
    this.lists = lists;
    this.arriving.clear();
    const endpoints = new Map(Array.from(lists, ([key, { addresses }]) => [key, addresses]));
    return { version, root, model, endpoints, changed };
  }

  /** The last whole, as it can be kept. Only where one has arrived. */
  keep({ version, root }: Pick<ReceivedModel, 'version' | 'root'>): CachedModel {
    return {
      version,
      root,
      parts: [...this.parts.values()],
      endpoints: Array.from(this.lists, ([key, { addresses }]) => [key, addresses]),
    };
  }

  /** @throws PartsBroken where it is not whole */
  restore({ version, root, parts, endpoints }: CachedModel): ReceivedModel {
    this.clear();
    for (const part of parts) this.addPart(part);
    for (const [key, addresses] of endpoints) this.addEndpoints(key, addresses);
    return this.complete(version, root);
  }

  private names(lists: ReadonlyMap<string, List>): (readonly [string, PartName])[] {
    return Array.from(lists, ([key, { name }]) => [key, name]);
  }
}
