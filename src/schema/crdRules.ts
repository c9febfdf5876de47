/** Rules of a CRD in CEL, for what a schema cannot say; where the schema is read here as well, each has its like in a `refine`. */
export const crdRules = (...all: readonly { readonly rule: string; readonly message: string }[]) => ({
  'x-kubernetes-validations': all,
});
