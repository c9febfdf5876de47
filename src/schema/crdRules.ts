/** Rules of a CRD in CEL, for what a schema cannot say; where the schema is read here as well, each has its like in a `refine`. */
export const crdRules = (...all: readonly { readonly rule: string; readonly message: string }[]) => ({
  'x-kubernetes-validations': all,
});

/** Marks a list of a CRD whose entries have names: the API server keeps the names apart, and merges lists by them. */
export const byName = { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] };
