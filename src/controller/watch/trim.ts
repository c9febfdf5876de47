import type { KubeObject } from '../api/object.ts';

/** Makes of an object what is kept of it. It must not change what it is given. */
export type Trim<T extends KubeObject> = (object: KubeObject) => T;

/** Holds a copy of the whole object as somebody once wrote it. */
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

/**
 * Leaves out what no controller reads: who set which field, and the copy that `kubectl apply` keeps. Together they are
 * often larger than the object.
 */
export function trimMetadata(object: KubeObject): KubeObject {
  const { annotations } = object.metadata;
  const metadata: Partial<Record<string, unknown>> = { ...object.metadata };
  delete metadata['managedFields'];
  if (annotations?.[lastApplied] !== undefined) {
    const kept: Record<string, string> = { ...annotations };
    delete kept[lastApplied];
    metadata['annotations'] = kept;
  }
  return { ...object, metadata: metadata as unknown as KubeObject['metadata'] };
}

/** The same, without annotations: they may be a quarter of a megabyte of anything. */
export const trimAnnotations = (object: KubeObject): KubeObject => ({
  ...object,
  metadata: withoutAnnotations(trimMetadata(object).metadata),
});

const withoutAnnotations = ({
  annotations: _,
  ...metadata
}: KubeObject['metadata']): KubeObject['metadata'] => metadata;

/** Keeps what tells objects apart, and these parts of the metadata besides. */
export function identityOf(
  { metadata }: KubeObject,
  ...parts: readonly (keyof KubeObject['metadata'])[]
): KubeObject['metadata'] {
  const kept: Partial<Record<string, unknown>> = {};
  for (const part of ['name', 'namespace', 'uid', 'resourceVersion', ...parts] as const)
    if (metadata[part] !== undefined) kept[part] = metadata[part];
  return kept as unknown as KubeObject['metadata'];
}
