import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Gateway, Named } from '../types/index.ts';
import type {
  Infrastructure,
  KubeObjects,
  Parameters,
  PodInfrastructure,
  TranslateOptions,
  Translation,
} from './contract.ts';
import { keyOfNamed } from './lookup.ts';
import { readObjects } from './objects.testing.ts';

const folder = fileURLToPath(new URL('golden/', import.meta.url));

/** A cluster whose objects are replaced by others. */
export interface World {
  objects: KubeObjects;
  options: TranslateOptions;
}

/** Every sample in namespaces and classes of its own, in one cluster: objects of all kinds. */
export function world(): World {
  const all: Record<string, unknown[]> = {};
  const infrastructure = new Map<string, Infrastructure>();
  const pods = new Map<string, PodInfrastructure>();
  const parameters: Parameters[] = [];
  let last: TranslateOptions | undefined;
  for (const name of readdirSync(folder).filter((one) => one.endsWith('.in.yaml'))) {
    const prefix = name.slice(0, -'.in.yaml'.length).toLowerCase();
    const text = readFileSync(`${folder}${name}`, 'utf8');
    const { objects, options } = readObjects(text);
    for (const [field, list] of Object.entries(objects))
      (all[field] ??= []).push(
        ...(list as readonly unknown[]).map((object) =>
          field === 'namespaces' || field === 'gatewayClasses'
            ? renamed(moved(object, prefix) as Named, (own) => `${prefix}-${own}`)
            : moved(object, prefix),
        ),
      );
    for (const [key, value] of options.infrastructure) infrastructure.set(`${prefix}-${key}`, value);
    for (const [key, value] of options.pods?.infrastructure ?? []) pods.set(`${prefix}-${key}`, value);
    parameters.push(...options.parameters.map((one) => moved(one, prefix) as Parameters));
    last = options;
  }
  assert.ok(last !== undefined);
  // Nodes of one name come in many samples.
  for (const [field, list] of Object.entries(all)) {
    const byName = new Map((list as readonly Gateway[]).map((object) => [keyOfNamed(object), object]));
    all[field] = [...byName.values()];
  }
  return {
    objects: all as unknown as KubeObjects,
    options: {
      ...last,
      infrastructure,
      troubles: new Map(),
      parameters,
      pods: { infrastructure: pods, isKnown: true, key: (backend) => `key of ${backend}` },
    },
  };
}

/** The same object in a namespace, or with a class, of another name. */
function moved(value: unknown, prefix: string): unknown {
  if (Array.isArray(value)) return value.map((one) => moved(one, prefix));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      (name === 'namespace' || name === 'gatewayClassName') && typeof inner === 'string'
        ? `${prefix}-${inner}`
        : moved(inner, prefix),
    ]),
  );
}

export const renamed = <Kind extends Named>(object: Kind, name: (own: string) => string): Kind => ({
  ...object,
  metadata: { ...object.metadata, name: name(object.metadata.name) },
});

/** The result of a translation, in an order of its own. */
export const told = ({ models, pods, endpoints, report }: Translation): unknown => ({
  models,
  pods,
  endpoints: new Map(
    [...models.values()].flatMap((one) => [...one.endpoints]).map((key) => [key, endpoints.get(key)]),
  ),
  report: report
    .map((update) => ({ ...update, key: `${update.kind} ${update.namespace ?? ''}/${update.name}` }))
    .toSorted((a, b) => (a.key < b.key ? -1 : 1)),
});

let version = 0;

/** Another number each time. */
export const nextVersion = (): number => ++version;

/** The object, as the API server has it after a write. */
export const newer = <Kind extends { readonly metadata: object }>(object: Kind): Kind => ({
  ...object,
  metadata: { ...object.metadata, resourceVersion: String(nextVersion()) },
});
