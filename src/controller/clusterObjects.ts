import type { Logger } from '../telemetry/index.ts';
import type { KubeApi } from './api/api.ts';
import type { KubeObject } from './api/object.ts';
import { bundleVersionAnnotation, crdResource, trimCrd, watchedKinds, type WatchedKind } from './kinds.ts';
import { namespaceBudget, noteReplaced, type AskedData, type KubeObjects } from './translate/index.ts';
import type { Secret } from './types/index.ts';
import { OnDemandData } from './watch/onDemandData.ts';
import { Informer } from './watch/informer.ts';
import type { WatchPace } from './watch/listWatch.ts';
import type { Change } from './watch/store.ts';
import type { WatchMetrics } from './watch/watchMetrics.ts';
import type { Urgency } from './work/coalescer.ts';
import { isProvisioned } from './write/provisioner.ts';

export interface ClusterObjectsOptions {
  readonly api: KubeApi;
  /** Objects of these namespaces only; all unless given. */
  readonly namespaces?: readonly string[] | undefined;
  /** Changes that are our own doing and ask for nothing. */
  readonly isEcho: (change: Change<KubeObject>) => boolean;
  /** Reports a change that the translation reads; `addresses` when only addresses changed. */
  readonly onChange: (what: 'addresses' | 'objects', urgency: Urgency) => void;
  readonly log: Logger;
  readonly metrics: WatchMetrics;
  readonly pace?: WatchPace;
}

/** Objects whose data is kept while a translation asks for it. */
const dataFields = ['secrets', 'configMaps'] as const satisfies readonly (keyof KubeObjects)[];

/** All objects of a cluster that matter, kept up to date. */
export class ClusterObjects {
  readonly #informers: readonly (readonly [WatchedKind, Informer<KubeObject>])[];
  readonly #crds: Informer<KubeObject>;
  readonly #held: OnDemandData;
  /** True when every kind is known for the first time; false when it is closed before. */
  readonly synced: Promise<boolean>;

  constructor({ onChange, isEcho, ...shared }: ClusterObjectsOptions) {
    const { api, log } = shared;
    const held = new OnDemandData({
      api,
      log,
      budget: namespaceBudget,
      onChange: () => onChange('objects', 'soon'),
    });
    this.#held = held;
    this.#informers = watchedKinds.map((kind) => {
      const { addressesOnly, resource, trim, ...what } = kind;
      const hasData = dataFields.some((field) => field === kind.field);
      const informer = new Informer<KubeObject>({
        ...shared,
        ...what,
        resource,
        trim: hasData ? (object) => held.trimmed(trim(object)) : trim,
      });
      if (hasData) held.follow({ resource, trim, informer });
      informer.objects.onChange((changes) => {
        if (kind.field === 'secrets')
          for (const change of changes)
            if (change.type === 'updated')
              noteReplaced(change.previous as unknown as Secret, change.object as unknown as Secret);
        if (changes.every(isEcho)) return;
        // Objects made for proxies are almost never the backends of routes.
        const urgency = changes.every(({ object }) => isProvisioned(object)) ? 'later' : 'soon';
        onChange(addressesOnly === true ? 'addresses' : 'objects', urgency);
      });
      return [kind, informer];
    });
    this.#crds = new Informer<KubeObject>({
      ...shared,
      resource: crdResource,
      trim: trimCrd,
      metadataOnly: true,
    });
    this.#crds.objects.onChange(() => {
      // A kind that was missing may be there now.
      for (const [, informer] of this.#informers) informer.lookAgain();
      onChange('objects', 'soon');
    });
    this.synced = Promise.all(this.#all.map(async (informer) => await informer.synced)).then((known) =>
      known.every(Boolean),
    );
  }

  get isSynced(): boolean {
    return this.#all.every(({ isSynced }) => isSynced);
  }

  /** Kinds that are not known yet. */
  get missing(): readonly string[] {
    return this.#all.filter(({ isSynced }) => !isSynced).map(({ resource }) => resource.kind);
  }

  /** The objects at this moment. The objects in it are never changed, only replaced in later ones. */
  snapshot(): KubeObjects {
    // The API server has checked them against the schemas of their kinds; what it lets through and is wrong all the
    // same is the translation's to report.
    return Object.fromEntries(
      this.#informers.map(([{ field }, { objects }]) => [field, [...objects.list()]]),
    ) as unknown as KubeObjects;
  }

  /** Keeps the data of these Secrets and ConfigMaps, and of no others. `onChange` tells when all of it is in the snapshot. */
  hold(asked: AskedData): void {
    this.#held.want(
      new Map(
        this.#informers.flatMap(([{ field, resource }]) =>
          field === 'secrets' || field === 'configMaps' ? [[resource.kind, asked[field]] as const] : [],
        ),
      ),
    );
  }

  /** Data that was asked for first is still on its way. */
  get isStarting(): boolean {
    return this.#held.isStarting;
  }

  /** Releases of the Gateway API whose CRDs are installed; more than one after half an upgrade. */
  bundleVersions(): readonly string[] {
    const versions = new Set<string>();
    for (const { metadata } of this.#crds.objects.list()) {
      const version = metadata.annotations?.[bundleVersionAnnotation];
      if (version !== undefined) versions.add(version);
    }
    return [...versions].toSorted();
  }

  async close(): Promise<void> {
    this.#held.close();
    await Promise.all(this.#all.map(async (informer) => await informer.close()));
  }

  get #all(): readonly Informer<KubeObject>[] {
    return [...this.#informers.map(([, informer]) => informer), this.#crds];
  }
}
