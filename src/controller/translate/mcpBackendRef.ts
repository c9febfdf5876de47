import { isIP } from 'node:net';
import {
  parseDuration,
  type BackendTls,
  type McpBackend,
  type McpTarget,
  type StdioTarget,
} from '../../model/index.ts';
import type { BackendRef } from '../types/index.ts';
import type { Asker, BackendResolver } from './backendRef.ts';
import { problem, type Problem } from './conditions.ts';
import { written } from './grants.ts';
import type { Lookup } from './lookup.ts';
import type { McpBackends, McpState, McpUse } from './mcpBackends.ts';
import type { PodSurroundings } from './contract.ts';
import { backendDefaults, beingSetUp, remoteTarget } from './mcpPod.ts';
import { environmentOf } from './mcpEnvironment.ts';
import type { GatewayRights } from './mcpRights.ts';
import type { McpTargetSpec } from './mcpSchema.ts';
import { authoritiesOf, type Checked } from './pem.ts';
import { namespaceOf } from './state.ts';

export const OWN_GROUP = 'portcullis.dev';
const kind = 'McpBackend';

export const isMcpRef = (reference: BackendRef): boolean =>
  reference.group === OWN_GROUP && reference.kind === kind;

const defaultPath = '/mcp';
const defaultStartTimeoutMs = 60_000;

/** The tools for resolving the McpBackends of a translation. */
export interface McpTools {
  readonly backends: McpBackends;
  readonly rights: GatewayRights;
  readonly pods: PodSurroundings | undefined;
  readonly controllerName: string;
}

/** A problem, and whether it is one of a reference or of the object itself. */
interface Wrong {
  readonly as: 'refused' | 'unresolved' | 'pending';
  readonly why: Problem;
}
type Made<Kind> = Kind | Wrong;

const refused = (reason: string, message: string): Wrong => ({
  as: 'refused',
  why: problem(reason, message),
});
const unresolved = (why: Problem): Wrong => ({ as: 'unresolved', why });

/** Follows the references of HTTPRoutes to McpBackends, and those of McpBackends to what they need. */
export class McpResolver {
  private readonly tools: McpTools;
  private readonly services: Pick<BackendResolver, 'resolve'>;

  constructor(tools: McpTools, services: Pick<BackendResolver, 'resolve'>) {
    this.tools = tools;
    this.services = services;
  }

  /** @param reference one of `isMcpRef` */
  resolve(reference: BackendRef, asker: Asker): Omit<McpBackend, 'weight' | 'place'> | Problem {
    const { from, gateway, attached } = asker;
    const { name, port } = reference;
    const namespace = namespaceOf(reference, from.namespace);
    const key = `${namespace}/${name}`;
    const what = written(kind, namespace, name);
    if (!gateway.lookup.grants.permit(from, { group: OWN_GROUP, kind, namespace }, name))
      return problem('RefNotPermitted', `${what}: no ReferenceGrant allows it`);
    const state = this.tools.backends.find(key, gateway);
    if (state === undefined) return problem('BackendNotFound', `${what}: there is none`);
    const target = this.targetOf(state, namespace, asker);
    const wrong = 'why' in target ? { [target.as]: target.why } : {};
    if (attached) state.uses.set(gateway.key, { gateway, ...wrong, ...this.programOf(state, target, asker) });
    if ('why' in target) return problem(target.why.reason, `${what}: ${target.why.message}`);
    if (port !== undefined)
      return problem('UnsupportedValue', `${what}: its ports are said by itself, so none can be named here`);
    return {
      kind: 'mcp',
      key: `mcp/${key}`,
      targets: [target],
      ...backendDefaults,
    };
  }

  /** The program of its own pod, where the Gateway allows it one. */
  private programOf(
    { spec, object }: McpState,
    made: Made<McpTarget>,
    { gateway }: Asker,
  ): Pick<McpUse, 'program'> {
    const target = 'reason' in spec ? undefined : spec.targets[0];
    if (target?.stdio?.placement !== 'Pod' || ('why' in made && made.as === 'refused')) return {};
    const program = this.program(target, target.stdio, object.metadata.namespace ?? '', gateway.lookup);
    return 'why' in program ? {} : { program };
  }

  private targetOf(state: McpState, namespace: string, asker: Asker): Made<McpTarget> {
    const { spec } = state;
    if ('reason' in spec) return { as: 'refused', why: spec };
    // The schema sees to it that there is one.
    const target = spec.targets[0] as McpTargetSpec;
    if (target.stdio?.placement === 'Pod') return this.pod(target, target.stdio, state, asker);
    if (target.stdio !== undefined) return this.stdio(target, target.stdio, namespace, asker);
    if (target.service !== undefined) return this.service(target, target.service, namespace, asker);
    if (target.host !== undefined) return this.host(target, target.host, namespace, asker);
    return refused('Invalid', 'a target is neither of stdio, service and host');
  }

  private stdio(
    target: McpTargetSpec,
    stdio: NonNullable<McpTargetSpec['stdio']>,
    namespace: string,
    { gateway }: Asker,
  ): Made<McpTarget> {
    if (!this.tools.rights.permit('stdio', gateway, namespace))
      return refused('StdioNotAllowed', notAllowed('stdio', gateway.key, namespace));
    return this.program(target, stdio, namespace, gateway.lookup);
  }

  /** The proxies know where its pod is and what to show there, and nothing of the program. */
  private pod(
    target: McpTargetSpec,
    stdio: NonNullable<McpTargetSpec['stdio']>,
    { object: { metadata } }: McpState,
    { gateway, attached }: Asker,
  ): Made<McpTarget> {
    const { namespace = '', name } = metadata;
    const { rights, pods, controllerName } = this.tools;
    if (!rights.permit('pods', gateway, namespace))
      return refused('PodNotAllowed', notAllowed('pods', gateway.key, namespace));
    const program = this.program(target, stdio, namespace, gateway.lookup);
    if ('why' in program) return program;
    const state = podState(pods, `${namespace}/${name}`);
    if ('reason' in state) {
      if (attached && pods !== undefined && !pods.isKnown) gateway.waits = true;
      return { as: 'pending', why: state };
    }
    const remote = remoteTarget(target.name, { namespace, name, controllerName }, state.key);
    if (attached && remote.endpoints !== undefined) gateway.endpoints.add(remote.endpoints);
    return remote;
  }

  private program(
    { name }: McpTargetSpec,
    { command, args = [], env, cwd, startTimeout, resume }: NonNullable<McpTargetSpec['stdio']>,
    namespace: string,
    lookup: Lookup,
  ): Made<StdioTarget> {
    const variables = environmentOf(env, namespace, lookup);
    if ('reason' in variables) return unresolved(variables);
    return {
      kind: 'stdio',
      name,
      cmd: command,
      args,
      env: variables.env,
      clearEnv: false,
      ...(cwd === undefined ? {} : { cwd }),
      startTimeoutMs: (startTimeout && parseDuration(startTimeout)) || defaultStartTimeoutMs,
      ...(resume === false ? { resume } : {}),
    };
  }

  private service(
    { name }: McpTargetSpec,
    { path = defaultPath, ...reference }: NonNullable<McpTargetSpec['service']>,
    namespace: string,
    asker: Asker,
  ): Made<McpTarget> {
    const from = { group: OWN_GROUP, kind, namespace };
    const found = this.services.resolve(definite(reference), { ...asker, from, spoken: 'http' });
    return 'reason' in found ? unresolved(found) : { kind: 'http', name, path, ...found };
  }

  private host(
    { name }: McpTargetSpec,
    { host, port, path = defaultPath, tls }: NonNullable<McpTargetSpec['host']>,
    namespace: string,
    { gateway }: Asker,
  ): Made<McpTarget> {
    if (!this.tools.rights.permit('hosts', gateway, namespace))
      return refused('HostNotAllowed', notAllowed('hosts', gateway.key, namespace));
    const secure = tls === undefined ? undefined : this.tls(tls, namespace, gateway.lookup);
    if (secure !== undefined && 'why' in secure) return secure;
    return {
      kind: 'http',
      name,
      host,
      port,
      path,
      // With its dot a name is whole: the search domains of a pod would make the Service b of namespace c out of b.c.
      ...(isIP(host) === 0 ? { addresses: [{ host: `${host}.`, port }] } : {}),
      ...(secure === undefined ? {} : { tls: secure }),
    };
  }

  private tls(
    { hostname, caCertificateRefs = [] }: NonNullable<NonNullable<McpTargetSpec['host']>['tls']>,
    namespace: string,
    { configMaps }: Lookup,
  ): Made<BackendTls> {
    const texts: string[] = [];
    for (const { name } of caCertificateRefs) {
      const map = configMaps.get(`${namespace}/${name}`);
      const checked: Checked<string> =
        map === undefined ? { ok: false, why: 'there is none' } : authoritiesOf(map);
      // Fewer authorities than were asked for would still be safe, but nobody would learn of it.
      if (!checked.ok)
        return unresolved(
          problem('InvalidCACertificateRef', `${written('ConfigMap', namespace, name)}: ${checked.why}`),
        );
      texts.push(checked.value);
    }
    return {
      ...(hostname === undefined ? {} : { hostname }),
      ...(texts.length === 0 ? {} : { root: { inline: texts.join('\n') } }),
      insecure: false,
      insecureHost: false,
      subjectAltNames: [],
    };
  }
}

/** The key to a pod that can be reached, or why there is none. */
function podState(pods: PodSurroundings | undefined, key: string): { readonly key: string } | Problem {
  if (pods === undefined)
    return problem('Pending', 'this controller makes no pods: it was given no image for proxies');
  const secret = pods.key(key);
  if (secret === undefined)
    return problem('Pending', 'what proxies show to its pod is not known yet (Secret portcullis-sessions)');
  const { reachable = false, pending = beingSetUp } = pods.infrastructure.get(key) ?? {};
  return reachable ? { key: secret } : problem('Pending', pending);
}

const notAllowed = (right: string, gateway: string, namespace: string): string =>
  `Gateway ${gateway} allows it to no McpBackend of namespace ${namespace}: see spec.mcp.${right} of PortcullisParameters`;

/** Without fields that are there and undefined. */
const definite = ({
  name,
  namespace,
  port,
}: {
  readonly name: string;
  readonly namespace?: string | undefined;
  readonly port: number;
}): BackendRef => ({ name, port, ...(namespace === undefined ? {} : { namespace }) });
