import type { z } from 'zod';
import type { FindServer } from './fields/policyServer.ts';

/**
 * A place of a configuration where a policy can stand: a listener (or a gateway, for its listener), a route, an HTTP
 * backend, an MCP backend, a Service of a cluster, an MCP target that is reached over the network.
 */
export type PolicyPlace = 'listener' | 'route' | 'backend' | 'mcpBackend' | 'service' | 'target';

/** The facts about a policy that the rest of the program needs without its run-time code. */
export interface PolicyFacts {
  /** Shape of its settings, as an operator writes them; the output is plain data, since models travel as JSON. */
  readonly schema: z.ZodType;
  /** The places where it may stand, and is enforced. */
  readonly on: readonly PolicyPlace[];
  /** The places where the format has it and this version refuses it by name. */
  readonly notYetOn?: readonly PolicyPlace[];
  /** On a route or listener, it acts on the messages for MCP servers over the network, too, as policies of targets do. */
  readonly reachesTargets?: true;
  /**
   * Its subject. MCP servers get messages of their session instead of requests of clients, so a policy about
   * forwarding does nothing for them, and one about connections does nothing for child processes.
   */
  readonly about: 'caller' | 'request' | 'forwarding' | 'connection';
  /** The credential that it asks callers for. */
  readonly asksFor?: 'token' | 'password' | 'key';
  /** Its metadata tells MCP clients where to log in. */
  readonly guidesClients?: true;
  /** The issuers with whose tokens a caller can log in, for policies that name some. */
  readonly logins?: (settings: unknown) => PolicyLogins;
  /** It answers requests in the place of a backend. */
  readonly answers?: true;
  /** `path.prefix` of its settings replaces the path prefix of a match, so every match must have one. */
  readonly replacesPrefix?: true;
  /** Its settings, or the entries of their list, need `config.store` where the field has the value. */
  readonly sharesState?: { readonly field: string; readonly value: string };
  /** Its settings are a set of authorization rules, or hold one as this member. */
  readonly rules?: 'self' | { readonly member: string; readonly likePolicy: string };
  /**
   * The servers that it calls, of which each may be the name of a top-level backend. In a GatewayPolicy, such a server
   * has its `host` alone, of TLS or of a Service, and no settings of the connection.
   */
  readonly servers?: {
    /**
     * The objects with the field `backend` in the settings as they are written: dots, and `*` for entries of a list. The
     * empty path stands for the settings themselves.
     */
    readonly paths: readonly string[];
    /** The same settings with the addresses of the backends. */
    readonly located: (settings: unknown, find: FindServer) => unknown;
  };
  /** The disadvantage of a random session key for these settings; undefined where there is none worth a warning. */
  readonly lostWithoutSessionKey?: (settings: unknown) => string | undefined;
  /** Settings that are valid and probably not meant. */
  readonly warnings?: (settings: unknown) => readonly string[];
  /** The part of its settings that has an effect on routes to MCP servers only; undefined where there is none. */
  readonly forMcpOnly?: (settings: unknown) => string | undefined;
  /**
   * The part of its settings that has no effect on routes to MCP servers; undefined where there is none.
   * @param overNetwork one of the servers is no child process
   */
  readonly idleForMcp?: (settings: unknown, overNetwork: boolean) => string | undefined;
  /** Paths that it answers itself, where a request with such a path has found its route. */
  readonly ownPaths?: (settings: unknown) => readonly string[];
  /** The path that ends the login of a caller. */
  readonly logoutPath?: (settings: unknown) => string;
  /** It keeps state in cookies of its own, which no backend may get. */
  readonly ownCookies?: {
    /** The name that each of them begins with, behind the prefix that browsers know. */
    readonly name: string;
    /** Does a policy with these settings set cookies? Absent: always. */
    readonly where?: (settings: unknown) => boolean;
  };
  /** GatewayPolicies cannot hold it: a cluster has another object for it, or its author may not have so much power. */
  readonly fileOnly?: true;
  /**
   * The fields for which a GatewayPolicy names a Secret or ConfigMap of its namespace instead of a file or a
   * secret text.
   */
  readonly clusterForms?: readonly ClusterForm[];
  /** Fields of the settings that a GatewayPolicy refuses: its author may not act as the machine of the proxy. */
  readonly notInCluster?: readonly string[];
  /** Path in the settings (dots, `*` for entries of a list, empty for the whole) → further rules of the CRD. */
  readonly crdRules?: Readonly<Record<string, readonly CrdRule[]>>;
}

/** The ways to get the credential that a policy asks for. */
export interface PolicyLogins {
  readonly issuers: readonly string[];
  readonly audiences: readonly string[];
  /** Scopes that a client should ask for. */
  readonly clientScopes: readonly string[];
}

/** The credential that a policy asks callers for. */
export interface PolicyLogin extends PolicyLogins {
  /** The policy. */
  readonly kind: string;
  /** Requests carry a token of an issuer. */
  readonly byToken: boolean;
  readonly credential: 'token' | 'password' | 'key';
  /** Its metadata tells MCP clients where to log in, so that they get a token by themselves. */
  readonly guidesClients: boolean;
  /** The header of the credential and the text before it; absent where it stands in another place. */
  readonly header?: { readonly name: string; readonly prefix: string };
}

/** A rule of a CRD in CEL (`x-kubernetes-validations`), for what the schema checks by code. */
export interface CrdRule {
  readonly rule: string;
  readonly message: string;
}

/** The entries of a Secret of type `kubernetes.io/tls` are the last two. */
type SecretEntry = '.htpasswd' | 'api-key' | 'client-secret' | 'tls.key' | 'tls.crt';

/** A place of the settings whose text an object of the cluster holds. */
export interface ClusterForm {
  /** From the settings, with dots; `*` stands for the entries of a list. */
  readonly path: string;
  /** Fields of the file that a cluster refuses there. */
  readonly without: readonly string[];
  /** The field that names the object, and the entry of the object. */
  readonly from:
    | { readonly field: 'secret'; readonly entry: SecretEntry }
    | { readonly field: 'configMap'; readonly entry: 'jwks.json' | 'openid-configuration.json' };
  /** The field of the file that gets the text; without it the text takes the place of all fields. */
  readonly as?: string;
  /** Fields beside `from.field`, with their descriptions: one of which can stand in its place. */
  readonly or?: Readonly<Record<string, string | undefined>>;
  readonly description: string;
}
