import type { McpTarget } from '../../model/index.ts';
import type { McpBackend } from '../types/index.ts';
import { problem, verdict, type Problem } from './conditions.ts';
import type { StatusUpdate } from './contract.ts';
import type { Guard } from './guard.ts';
import { keyOfNamed } from './lookup.ts';
import { mcpBackendSchema, type McpBackendSpec } from './mcpSchema.ts';
import { said } from './settings.ts';
import type { GatewayState, NamedGateway } from './state.ts';
import { ancestorOf, ancestorsStatus } from './status.ts';

/** The state of an McpBackend. */
export interface McpState {
  readonly object: McpBackend;
  readonly spec: McpBackendSpec | Problem;
  /** By `namespace/name` of the Gateways whose routes use it. */
  readonly uses: Map<string, McpUse>;
}

/** The state of an McpBackend at one Gateway. */
export interface McpUse {
  readonly gateway: NamedGateway;
  /** The reason why it cannot be used there. */
  readonly refused?: Problem;
  /** A reference that cannot be followed. */
  readonly unresolved?: Problem;
  /** It is not there yet. */
  readonly pending?: Problem;
  /** The program of its own pod, if it wants one, the Gateway allows it, and everything it needs is there. */
  readonly program?: McpTarget;
}

/** The McpBackends by name. */
export class McpBackends {
  private readonly states = new Map<string, McpState>();

  constructor(objects: readonly McpBackend[], guard: Guard) {
    for (const object of objects)
      guard('McpBackend', object, () => {
        this.states.set(keyOfNamed(object), { object, spec: read(object), uses: new Map() });
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

/** Objects are replaced when they change, so what was read of one holds as long as it lives. */
const readings = new WeakMap<McpBackend, McpBackendSpec | Problem>();

function read(object: McpBackend): McpBackendSpec | Problem {
  const known = readings.get(object);
  if (known !== undefined) return known;
  const result = mcpBackendSchema.safeParse(object.spec ?? {});
  const reading = result.success ? result.data : problem('Invalid', said(result.error.issues));
  readings.set(object, reading);
  return reading;
}

/** The known facts about the pod of a usable McpBackend with a pod of its own. */
export interface PodNews {
  /** The reason why it does not serve. */
  readonly problem: Problem | undefined;
}

const programmed = 'Programmed';

/** Undefined where it is not, and was not, of our concern. */
export const mcpBackendStatus = (
  { object, uses }: McpState,
  pod: PodNews | undefined,
  controllerName: string,
  now: string,
): StatusUpdate | undefined =>
  ancestorsStatus(
    'McpBackend',
    object,
    Array.from(uses.values(), ({ gateway, refused, unresolved, pending }) => ({
      ...ancestorOf(gateway),
      verdicts: [
        verdict('Accepted', refused),
        verdict('ResolvedRefs', unresolved),
        ...(pod === undefined || refused !== undefined ? [] : [verdict(programmed, pending ?? pod.problem)]),
      ],
    })),
    controllerName,
    now,
    [programmed],
  );
