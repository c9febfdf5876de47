import type { Condition, Named, Reference } from './meta.ts';

/** The routes of `gateway.networking.k8s.io/v1`, as far as they are read. */

export interface ParentReference extends Reference {
  readonly sectionName?: string;
  readonly port?: number;
}

export interface RouteParentStatus {
  readonly parentRef: ParentReference;
  readonly controllerName: string;
  readonly conditions?: readonly Condition[];
}

export interface RouteStatus {
  readonly parents?: readonly RouteParentStatus[];
}

interface Route<Spec> extends Named {
  readonly spec: Spec & { readonly parentRefs?: readonly ParentReference[] };
  readonly status?: RouteStatus;
}

export type AnyRoute = HttpRoute | GrpcRoute | TlsRoute | TcpRoute | UdpRoute;

export interface BackendRef extends Reference {
  readonly port?: number;
  readonly weight?: number;
}

// HTTP

export type HttpRoute = Route<{
  readonly hostnames?: readonly string[];
  readonly rules?: readonly HttpRouteRule[];
}>;

export interface HttpRouteRule {
  readonly name?: string;
  readonly matches?: readonly HttpRouteMatch[];
  readonly filters?: readonly RouteFilter[];
  readonly backendRefs?: readonly FilteredBackendRef[];
  readonly timeouts?: { readonly request?: string; readonly backendRequest?: string };
  readonly retry?: {
    readonly codes?: readonly number[];
    readonly attempts?: number;
    readonly backoff?: string;
  };
  readonly sessionPersistence?: SessionPersistence;
}

export interface SessionPersistence {
  readonly sessionName?: string;
  readonly absoluteTimeout?: string;
  readonly idleTimeout?: string;
  /** `Cookie` by default, or `Header`. */
  readonly type?: string;
  readonly cookieConfig?: { readonly lifetimeType?: string };
}

export interface FilteredBackendRef extends BackendRef {
  readonly filters?: readonly RouteFilter[];
}

export interface HttpRouteMatch {
  readonly path?: { readonly type?: string; readonly value?: string };
  readonly headers?: readonly TypedValue[];
  readonly queryParams?: readonly TypedValue[];
  readonly method?: string;
}

export interface TypedValue {
  /** `Exact` by default, or `RegularExpression`. */
  readonly type?: string;
  readonly name: string;
  readonly value: string;
}

export interface RouteFilter {
  readonly type: string;
  readonly requestHeaderModifier?: HeaderFilter;
  readonly responseHeaderModifier?: HeaderFilter;
  readonly requestMirror?: MirrorFilter;
  readonly requestRedirect?: RedirectFilter;
  readonly urlRewrite?: { readonly hostname?: string; readonly path?: PathModifier };
  readonly cors?: CorsFilter;
  readonly extensionRef?: Reference;
}

export interface HeaderFilter {
  readonly set?: readonly { readonly name: string; readonly value: string }[];
  readonly add?: readonly { readonly name: string; readonly value: string }[];
  readonly remove?: readonly string[];
}

export interface MirrorFilter {
  readonly backendRef: BackendRef;
  readonly percent?: number;
  readonly fraction?: { readonly numerator: number; readonly denominator?: number };
}

export interface RedirectFilter {
  readonly scheme?: string;
  readonly hostname?: string;
  readonly path?: PathModifier;
  readonly port?: number;
  readonly statusCode?: number;
}

export interface PathModifier {
  /** `ReplaceFullPath` or `ReplacePrefixMatch`. */
  readonly type: string;
  readonly replaceFullPath?: string;
  readonly replacePrefixMatch?: string;
}

export interface CorsFilter {
  readonly allowOrigins?: readonly string[];
  readonly allowCredentials?: boolean;
  readonly allowMethods?: readonly string[];
  readonly allowHeaders?: readonly string[];
  readonly exposeHeaders?: readonly string[];
  readonly maxAge?: number;
}

// gRPC

export type GrpcRoute = Route<{
  readonly hostnames?: readonly string[];
  readonly rules?: readonly GrpcRouteRule[];
}>;

export interface GrpcRouteRule {
  readonly name?: string;
  readonly matches?: readonly GrpcRouteMatch[];
  readonly filters?: readonly RouteFilter[];
  readonly backendRefs?: readonly FilteredBackendRef[];
  readonly sessionPersistence?: SessionPersistence;
}

export interface GrpcRouteMatch {
  readonly method?: { readonly type?: string; readonly service?: string; readonly method?: string };
  readonly headers?: readonly TypedValue[];
}

// TLS, TCP, UDP

interface StreamRule {
  readonly name?: string;
  readonly backendRefs?: readonly BackendRef[];
}

export type TlsRoute = Route<{
  readonly hostnames?: readonly string[];
  readonly rules?: readonly StreamRule[];
}>;
export type TcpRoute = Route<{ readonly rules?: readonly StreamRule[] }>;
export type UdpRoute = Route<{ readonly rules?: readonly StreamRule[] }>;
