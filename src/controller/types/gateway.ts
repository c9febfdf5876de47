import type { Condition, LabelSelector, Named, Reference } from './meta.ts';

/** GatewayClass, Gateway and ListenerSet of `gateway.networking.k8s.io/v1`, as far as they are read. */

export interface GatewayClass extends Named {
  readonly spec: { readonly controllerName: string; readonly parametersRef?: Reference };
  readonly status?: GatewayClassStatus;
}

export interface GatewayClassStatus {
  readonly conditions?: readonly Condition[];
  readonly supportedFeatures?: readonly { readonly name: string }[];
}

export interface Gateway extends Named {
  readonly spec: {
    readonly gatewayClassName: string;
    readonly listeners: readonly ListenerSpec[];
    readonly addresses?: readonly { readonly type?: string; readonly value?: string }[];
    readonly infrastructure?: {
      readonly labels?: Readonly<Record<string, string>>;
      readonly annotations?: Readonly<Record<string, string>>;
      readonly parametersRef?: Reference;
    };
    readonly allowedListeners?: { readonly namespaces?: FromNamespaces };
    readonly tls?: {
      readonly backend?: { readonly clientCertificateRef?: Reference };
      readonly frontend?: {
        readonly default: FrontendTls;
        readonly perPort?: readonly { readonly port: number; readonly tls: FrontendTls }[];
      };
    };
  };
  readonly status?: GatewayStatus;
}

export interface ListenerSpec {
  readonly name: string;
  readonly hostname?: string;
  readonly port: number;
  /** `HTTP`, `HTTPS`, `TLS`, `TCP`, `UDP`, or the name of one that others know. */
  readonly protocol: string;
  readonly tls?: {
    /** `Terminate` by default. */
    readonly mode?: string;
    readonly certificateRefs?: readonly Reference[];
    readonly options?: Readonly<Record<string, string>>;
  };
  readonly allowedRoutes?: {
    readonly namespaces?: FromNamespaces;
    readonly kinds?: readonly { readonly group?: string; readonly kind: string }[];
  };
}

export interface FromNamespaces {
  /** `All`, `Same`, `Selector`, `None`. */
  readonly from?: string;
  readonly selector?: LabelSelector;
}

export interface FrontendTls {
  readonly validation?: {
    readonly caCertificateRefs: readonly Reference[];
    /** `AllowValidOnly` by default, or `AllowInsecureFallback`. */
    readonly mode?: string;
  };
}

export interface GatewayAddress {
  readonly type?: string;
  readonly value: string;
}

export interface GatewayStatus {
  readonly addresses?: readonly GatewayAddress[];
  readonly conditions?: readonly Condition[];
  readonly listeners?: readonly ListenerStatus[];
  readonly attachedListenerSets?: number;
}

export interface ListenerStatus {
  readonly name: string;
  readonly supportedKinds?: readonly { readonly group?: string; readonly kind: string }[];
  readonly attachedRoutes: number;
  readonly conditions: readonly Condition[];
}

export interface ListenerSet extends Named {
  readonly spec: { readonly parentRef: Reference; readonly listeners: readonly ListenerSpec[] };
  readonly status?: ListenerSetStatus;
}

export interface ListenerSetStatus {
  readonly conditions?: readonly Condition[];
  readonly listeners?: readonly ListenerStatus[];
}
