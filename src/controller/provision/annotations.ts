/** Prefixes of annotations that pods take from a Gateway unless the parameters name others. */
const usualPrefixes: readonly string[] = ['app.kubernetes.io', 'prometheus.io'];

/**
 * The annotations of a Gateway that its pods and their account may have: those without a prefix, and those with an
 * allowed prefix. Annotations are orders to whatever watches pods: they attach networks (`k8s.v1.cni.cncf.io`), inject
 * containers, or give an account a role in the cloud (`eks.amazonaws.com`). A writer of Gateways may ask for none of that.
 * Keys without a prefix are private to users (Kubernetes, "Annotations: Syntax and character set"), so no program obeys
 * them.
 */
export function podAnnotations(
  annotations: Readonly<Record<string, string>>,
  prefixes: readonly string[] = usualPrefixes,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(annotations).filter(([key]) => {
      const slash = key.indexOf('/');
      return slash < 0 || prefixes.includes(key.slice(0, slash));
    }),
  );
}
