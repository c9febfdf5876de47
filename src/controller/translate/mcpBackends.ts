import { clusterTargetOf, type ClusterTarget, type Refusal } from '../../mcp/targets/facts.ts';
import type { McpTarget } from '../../model/index.ts';
import type { McpBackend } from '../types/index.ts';
import { problem, type Problem } from './conditions.ts';
import type { Guard } from './guard.ts';
import { keyOfNamed } from './lookup.ts';
import { podKeyOf } from './mcpPodNames.ts';
import { mcpBackendSchema, type McpBackendSpec } from './mcpSchema.ts';
import { said } from './settings.ts';
import type { GatewayState, NamedGateway } from './state.ts';

/** The result of reading an McpBackend. */
interface Reading {
  readonly spec: McpBackendSpec | Problem;
  /** In the order of the spec; none where it is wrong. */
  readonly targets: readonly ClusterTarget[];
}

/** The state of an McpBackend. */
export interface McpState extends Reading {
  readonly object: McpBackend;
  /** By `namespace/name` of the Gateways whose routes use it. */
  readonly uses: Map<string, McpUse>;
}

/** The state of an McpBackend at one Gateway. */
export interface McpUse {
  readonly gateway: NamedGateway;
  /** The reason why the whole backend cannot be used there. */
  readonly wrong?: Problem;
  /** In the order of the spec; none where it is wrong. */
  readonly targets: readonly TargetUse[];
}

/** The state of a target of an McpBackend at one Gateway. */
export interface TargetUse {
  readonly name: string;
  /** The reason why it cannot be used there. */
  readonly wrong?: Refusal;
  /** The program of its own pod, if it wants one, the Gateway allows it, and everything it needs is there. */
  readonly program?: McpTarget;
}

/** The McpBackends by name. */
export class McpBackends {
  private readonly states = new Map<string, McpState>();

  constructor(objects: readonly McpBackend[], guard: Guard) {
    for (const object of objects)
      guard('McpBackend', object, () => {
        this.states.set(keyOfNamed(object), { object, ...read(object), uses: new Map() });
      });
  }

  /**
   * @param key `namespace/name`
   * @param gateway that uses it
   */
  find(key: string, { lookup }: GatewayState): McpState | undefined {
    lookup.asked.mcpBackends.add(key);
    return this.states.get(key);
  }

  /** @param key `namespace/name` of the McpBackend */
  named(key: string): McpState | undefined {
    return this.states.get(key);
  }

  get all(): Iterable<McpState> {
    return this.states.values();
  }
}

/** The targets of an McpBackend that ask for pods. */
export const podTargetsOf = (object: McpBackend): readonly string[] =>
  read(object).targets.flatMap(({ name, pod }) => (pod === undefined ? [] : [name]));

/** The keys (`podKeyOf`) of these pods, in the same order. */
export const podsOf = (object: McpBackend): readonly string[] =>
  podTargetsOf(object).map((name) => podKeyOf(keyOfNamed(object), name));

/** Objects are replaced when they change, so what was read of one holds as long as it lives. */
const readings = new WeakMap<McpBackend, Reading>();

function read(object: McpBackend): Reading {
  let reading = readings.get(object);
  if (reading === undefined) {
    const result = mcpBackendSchema.safeParse(object.spec ?? {});
    reading = result.success
      ? // The schema sees to it that each has a form.
        { spec: result.data, targets: result.data.targets.flatMap((one) => clusterTargetOf(one) ?? []) }
      : { spec: problem('Invalid', said(result.error.issues)), targets: [] };
    readings.set(object, reading);
  }
  return reading;
}
