import type { Condition, Named, Reference } from './meta.ts';
import type { ParentReference } from './routes.ts';

/** ReferenceGrant and BackendTLSPolicy of `gateway.networking.k8s.io/v1`, as far as they are read. */

/** Allows references from other namespaces to objects of its own. */
export interface ReferenceGrant extends Named {
  readonly spec: {
    readonly from: readonly { readonly group: string; readonly kind: string; readonly namespace: string }[];
    /** Without a name: to all of the kind. */
    readonly to: readonly { readonly group: string; readonly kind: string; readonly name?: string }[];
  };
}

/** The TLS settings of the gateway towards a Service of its namespace. */
export interface BackendTLSPolicy extends Named {
  readonly spec: {
    readonly targetRefs: readonly (Reference & { readonly sectionName?: string })[];
    readonly validation: {
      readonly caCertificateRefs?: readonly Reference[];
      /** `System`. */
      readonly wellKnownCACertificates?: string;
      readonly hostname: string;
      readonly subjectAltNames?: readonly {
        /** `Hostname` or `URI`. */
        readonly type: string;
        readonly hostname?: string;
        readonly uri?: string;
      }[];
    };
    readonly options?: Readonly<Record<string, string>>;
  };
  readonly status?: PolicyStatus;
}

export interface PolicyStatus {
  readonly ancestors?: readonly PolicyAncestorStatus[];
}

export interface PolicyAncestorStatus {
  readonly ancestorRef: ParentReference;
  readonly controllerName: string;
  readonly conditions?: readonly Condition[];
}
