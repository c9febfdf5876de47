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
  const {
    managedFields: _,
    selfLink: __,
    ...metadata
  } = object.metadata as KubeObject['metadata'] & Readonly<Record<string, unknown>>;
  const { [lastApplied]: ___, ...annotations } = metadata.annotations ?? {};
  return {
    ...object,
    metadata: {
      ...metadata,
      ...(metadata.annotations === undefined ? {} : { annotations }),
    } as KubeObject['metadata'],
  };
}

/** Keeps, besides identity and metadata, these fields only. */
export function trimTo(...fields: readonly string[]): Trim<KubeObject> {
  return (object) => {
    const kept: Record<string, unknown> = {};
    for (const field of fields) if (object[field] !== undefined) kept[field] = object[field];
    const { apiVersion, kind, metadata } = trimMetadata(object);
    return { apiVersion, kind, metadata, ...kept };
  };
}
