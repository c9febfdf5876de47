import type { McpTarget, ProcessSettings } from '../../model/index.ts';
import type { Gateway } from '../types/index.ts';
import { problem, type Problem } from './conditions.ts';
import type { GatewayModel, McpPod, TranslateOptions } from './contract.ts';
import { keyOfNamed } from './lookup.ts';
import type { McpState, PodNews } from './mcpBackends.ts';
import { writtenTarget } from './mcpBackendRef.ts';
import { beingSetUp, podModel } from './mcpPod.ts';
import { mcpModelKey } from './mcpPodNames.ts';
import type { ProxyTroubles } from './troubles.ts';

/** The model of a program is the same object for as long as it says the same, so that others need not compare it. */
const modelled = new WeakMap<
  McpTarget,
  {
    readonly key: string;
    readonly secret: string;
    readonly process: ProcessSettings;
    readonly made: GatewayModel;
  }
>();

/** The pods that McpBackends are to have, once it is known which Gateways use them. */
export class McpPods {
  readonly wanted = new Map<string, McpPod>();
  private readonly options: TranslateOptions;
  private readonly troubles: ProxyTroubles;

  constructor(options: TranslateOptions, troubles: ProxyTroubles) {
    this.options = options;
    this.troubles = troubles;
  }

  /** @returns what is to be said of its pod; undefined where it wants none */
  add(state: McpState): PodNews | undefined {
    const { object, spec, uses } = state;
    const target = writtenTarget(spec);
    if (target?.pod === undefined) return undefined;
    const { image, resources } = target.pod;
    const key = keyOfNamed(object);
    const gateways = [...uses.values()].flatMap(({ gateway, refused }): readonly Gateway[] =>
      refused === undefined ? [gateway.object] : [],
    );
    if (gateways.length > 0)
      this.wanted.set(key, {
        object,
        gateways: gateways.toSorted((a, b) => (keyOfNamed(a) < keyOfNamed(b) ? -1 : 1)),
        ...(image === undefined ? {} : { image }),
        ...(resources === undefined ? {} : { resources }),
        model: this.model(key, target.field, state),
      });
    return { problem: this.problem(key) };
  }

  private model(key: string, field: string, { uses }: McpState): GatewayModel | undefined {
    const { process, pods } = this.options;
    const secret = pods?.key(key);
    // The needs of a program do not depend on the Gateway that allows it.
    const [program] = [...uses.values()].flatMap((use) => use.program ?? []);
    if (program === undefined || secret === undefined) return undefined;
    const known = modelled.get(program);
    if (known?.key === key && known.secret === secret && known.process === process) return known.made;
    const made = { model: podModel(key, field, program, secret, process), endpoints: new Set<string>() };
    modelled.set(program, { key, secret, process, made });
    return made;
  }

  private problem(key: string): Problem | undefined {
    const refusal =
      this.troubles.refusal(mcpModelKey(key)) ?? this.troubles.ofRoute(mcpModelKey(key), `McpBackend/${key}`);
    const { pending } = this.options.pods?.infrastructure.get(key) ?? { pending: beingSetUp };
    if (refusal !== undefined) return problem('Invalid', refusal.message);
    return pending === undefined ? undefined : problem('Pending', pending);
  }
}
