import type { Gateway } from '../types/index.ts';
import type { BackendTlsPolicies } from './backendTls.ts';
import type { Problem } from './conditions.ts';
import { keyOfNamed } from './lookup.ts';
import type { McpBackends, McpUse } from './mcpBackends.ts';
import type { GatewayPolicies } from './policies.ts';
import { noteGateway } from './policyState.ts';
import type { NamedGateway } from './state.ts';

/** The objects that Gateways share, and whose status tells of each of them. */
export interface Shared {
  readonly backendTls: BackendTlsPolicies;
  readonly policies: GatewayPolicies;
  readonly mcp: McpBackends;
}

/** The notes on an object, by `namespace/name` of the object and of the Gateway that uses it. */
type Noted<Note> = ReadonlyMap<string, ReadonlyMap<string, Note>>;

/** The uses of shared objects by Gateways. They depend only on the Gateway and on its look-ups. */
export interface Uses {
  /** The problem of the policy with the Services that the Gateway uses. */
  readonly backendTls: Noted<Problem | undefined>;
  readonly policies: Noted<readonly Problem[]>;
  readonly mcp: Noted<Omit<McpUse, 'gateway'>>;
}

export function collectUses({ backendTls, policies, mcp }: Shared): Uses {
  return {
    backendTls: new Map(
      backendTls.all.map(({ object, uses }) => [
        keyOfNamed(object),
        new Map(Array.from(uses, ([key, { missing }]) => [key, missing])),
      ]),
    ),
    policies: new Map(
      policies.all.map(({ object, ancestors }) => [
        keyOfNamed(object),
        new Map(
          [...ancestors.values()].flatMap(({ gateway, problems }) =>
            gateway === undefined ? [] : [[gateway, problems] as const],
          ),
        ),
      ]),
    ),
    mcp: new Map(
      Array.from(mcp.all, ({ object, uses }) => [
        keyOfNamed(object),
        new Map(Array.from(uses, ([key, { gateway: _, ...use }]) => [key, use])),
      ]),
    ),
  };
}

/**
 * Notes the uses by Gateways that are not translated.
 * @param part the Gateways that are, and the uses that were collected before
 * @param all the Gateways as they are now
 */
export function restoreUses(
  { gateways, uses }: { readonly gateways: ReadonlySet<string>; readonly uses: Uses },
  all: readonly Gateway[],
  { backendTls, policies, mcp }: Shared,
): void {
  const others = new Map<string, NamedGateway>();
  for (const object of all) {
    const key = keyOfNamed(object);
    if (!gateways.has(key)) others.set(key, { key, object });
  }
  each(uses.backendTls, others, (name, gateway, missing) => {
    backendTls.named(name)?.uses.set(gateway.key, { gateway, missing });
  });
  each(uses.policies, others, (name, gateway, problems) => {
    const state = policies.named(name);
    if (state !== undefined) noteGateway(state, gateway, problems);
  });
  each(uses.mcp, others, (name, gateway, use) => {
    mcp.named(name)?.uses.set(gateway.key, { gateway, ...use });
  });
}

function each<Note>(
  noted: Noted<Note>,
  gateways: ReadonlyMap<string, NamedGateway>,
  restore: (name: string, gateway: NamedGateway, note: Note) => void,
): void {
  for (const [name, byGateway] of noted)
    for (const [key, note] of byGateway) {
      const gateway = gateways.get(key);
      if (gateway !== undefined) restore(name, gateway, note);
    }
}
