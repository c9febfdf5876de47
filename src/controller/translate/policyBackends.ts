import { buildTarget, type BackendPolicySettings } from '../../config/index.ts';
import type { HttpBackend, PolicyUse, NetworkTarget, TcpBackend } from '../../model/index.ts';
import { policiesOn } from '../../policies/facts.ts';
import { problem, type Problem } from './conditions.ts';
import type { GatewayPolicies } from './policies.ts';
import { backendSteps, connectionNames } from './policyKinds.ts';
import { authorOf, type Level } from './policyLevel.ts';
import { nameOf } from './policyState.ts';
import type { GatewayState } from './state.ts';

/** The settings of connections to it. */
type Connection = Pick<
  HttpBackend,
  'eviction' | 'check' | 'connections' | 'tcp' | 'requestTimeoutMs' | 'affinity'
>;

interface OfService {
  readonly connection: Connection;
  readonly steps: readonly PolicyUse[];
}

/** The additional settings of an MCP server: the messages it gets are the gateway's own. */
const mcpSteps: ReadonlySet<string> = new Set(policiesOn('target'));

/** Gives backends what the policies of their Service say. */
export class BackendPolicies {
  private readonly policies: GatewayPolicies;
  private readonly gateway: GatewayState;
  private readonly attached: boolean;

  /** @param attached what is asked for is used, and noted for the status */
  constructor(
    policies: GatewayPolicies,
    { gateway, attached }: { readonly gateway: GatewayState; readonly attached: boolean },
  ) {
    this.policies = policies;
    this.gateway = gateway;
    this.attached = attached;
  }

  /** The policies of the Service come after those of the route and of the reference. */
  http(backend: HttpBackend): HttpBackend | Problem {
    const read = this.read(backend.endpoints);
    if (read === undefined || 'reason' in read) return read ?? backend;
    const policies = [...(backend.policies ?? []), ...read.steps];
    return { ...backend, ...read.connection, ...(policies.length === 0 ? {} : { policies }) };
  }

  /** A copy of a request goes as it was sent to the other backend: only connections are made as the Service says. */
  mirror(backend: HttpBackend): HttpBackend | Problem {
    const read = this.read(backend.endpoints);
    return read === undefined || 'reason' in read ? (read ?? backend) : { ...backend, ...read.connection };
  }

  tcp(backend: TcpBackend): TcpBackend | Problem {
    const read = this.read(backend.endpoints);
    if (read === undefined || 'reason' in read) return read ?? backend;
    return { ...backend, ...ofBytes(read.connection) };
  }

  /** @param ofTarget the policies for the target itself: those of the Service are closer to it */
  mcp<Target extends NetworkTarget>(target: Target, ofTarget: readonly PolicyUse[]): Target | Problem {
    const read = this.read(target.endpoints);
    if (read !== undefined && 'reason' in read) return read;
    // Other policies must not replace the key that lets the proxies into the pod of an McpBackend.
    const policies = [...(target.policies ?? [])];
    for (const step of [...(read?.steps ?? []), ...ofTarget])
      if (mcpSteps.has(step.name) && !policies.some(({ name }) => name === step.name)) policies.push(step);
    return {
      ...target,
      ...(read === undefined ? {} : ofSessions(read.connection)),
      ...(policies.length === 0 ? {} : { policies }),
    };
  }

  private read(endpoints: string | undefined): OfService | Problem | undefined {
    const [, key = '', port = '', protocol] = /^(.+):(\d+)\/([A-Z]+)$/.exec(endpoints ?? '') ?? [];
    if (this.policies.isEmpty || key === '') return undefined;
    const ports = this.gateway.lookup.services.get(key)?.spec?.ports ?? [];
    if (this.attached)
      this.policies.noteUse(
        '',
        'Service',
        key,
        this.gateway,
        ports.map(({ name = '' }) => ({ name })),
      );
    // A number may stand for a port of TCP and another one of UDP, as with HTTP/3.
    const used = ports.find((one) => one.port === Number(port) && (one.protocol ?? 'TCP') === protocol);
    const name = used?.name ?? '';
    const level = this.policies.ofService(key, name, this.gateway);
    return level.size === 0 ? undefined : readLevel(level);
  }
}

/** In a stream of bytes, the gateway does not know where a request begins. */
const ofBytes = ({ requestTimeoutMs: _, affinity: __, ...others }: Connection) => others;

/** The session says where its messages go. */
const ofSessions = ({ affinity: _, ...others }: Connection) => others;

const connectionOf = ({ host: _, port: __, ...others }: ReturnType<typeof buildTarget>): Connection => others;

function readLevel(level: Level): OfService | Problem {
  const settings: Record<string, unknown> = {};
  const steps: PolicyUse[] = [];
  for (const [name, { read, state }] of level) {
    if ('reason' in read) return problem(read.reason, `${nameOf(state)}: ${read.message}`);
    if (connectionNames.some((one) => one === name)) settings[name] = read.settings;
    else if (backendSteps.some((one) => one === name))
      steps.push({ name, settings: read.settings, ...authorOf(state, name) });
  }
  // Checked by the schema that the builder reads.
  const target = buildTarget({ host: '', port: 0 }, undefined, settings as BackendPolicySettings);
  return { connection: connectionOf(target), steps };
}
