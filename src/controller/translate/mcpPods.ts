import type { ClusterTarget } from '../../mcp/targets/facts.ts';
import type { McpTarget, ProcessSettings } from '../../model/index.ts';
import type { Gateway } from '../types/index.ts';
import { problem, type Problem } from './conditions.ts';
import type { GatewayModel, McpPod, TranslateOptions } from './contract.ts';
import { keyOfNamed } from './lookup.ts';
import type { McpState, McpUse, TargetUse } from './mcpBackends.ts';
import { beingSetUp, podModel } from './mcpPod.ts';
import { mcpModelKey, podKeyOf } from './mcpPodNames.ts';
import type { PodNews } from './mcpStatus.ts';
import type { ProxyTroubles } from './troubles.ts';

/** The model of a program is the same object for as long as it says the same, so that others need not compare it. */
const modelled = new WeakMap<
  McpTarget,
  {
    readonly pod: string;
    readonly secret: string;
    readonly process: ProcessSettings;
    readonly made: GatewayModel;
  }
>();

/** The pods that targets of McpBackends are to have, once it is known which Gateways use them. */
export class McpPods {
  /** By `podKeyOf` the target. */
  readonly wanted = new Map<string, McpPod>();
  private readonly options: TranslateOptions;
  private readonly troubles: ProxyTroubles;

  constructor(options: TranslateOptions, troubles: ProxyTroubles) {
    this.options = options;
    this.troubles = troubles;
  }

  /** @returns the facts about its pods, by target; empty where it wants none */
  add(state: McpState): PodNews {
    const news = new Map<string, Problem | undefined>();
    for (const target of state.targets)
      if (target.pod !== undefined) news.set(target.name, this.addPod(state, target, target.pod));
    return news;
  }

  private addPod(
    { object, uses }: McpState,
    { name: target, field }: ClusterTarget,
    { image, resources }: NonNullable<ClusterTarget['pod']>,
  ): Problem | undefined {
    const backend = keyOfNamed(object);
    const pod = podKeyOf(backend, target);
    const allowed = [...uses.values()].flatMap((use) => allowedUse(use, target));
    const gateways = allowed.map(({ gateway }) => gateway);
    if (gateways.length > 0)
      this.wanted.set(pod, {
        object,
        target,
        gateways: gateways.toSorted((a, b) => (keyOfNamed(a) < keyOfNamed(b) ? -1 : 1)),
        ...(image === undefined ? {} : { image }),
        ...(resources === undefined ? {} : { resources }),
        // The needs of a program do not depend on the Gateway that allows it.
        model: this.model(pod, backend, field, allowed.find(({ program }) => program !== undefined)?.program),
      });
    return this.problem(pod, backend);
  }

  private model(
    pod: string,
    backend: string,
    field: string,
    program: McpTarget | undefined,
  ): GatewayModel | undefined {
    const { process, pods } = this.options;
    const secret = pods?.key(pod);
    if (program === undefined || secret === undefined) return undefined;
    const known = modelled.get(program);
    if (known?.pod === pod && known.secret === secret && known.process === process) return known.made;
    const made = { model: podModel(backend, field, program, secret, process), endpoints: new Set<string>() };
    modelled.set(program, { pod, secret, process, made });
    return made;
  }

  private problem(pod: string, backend: string): Problem | undefined {
    const model = mcpModelKey(pod);
    const refusal = this.troubles.refusal(model) ?? this.troubles.ofRoute(model, `McpBackend/${backend}`);
    const { pending } = this.options.pods?.infrastructure.get(pod) ?? { pending: beingSetUp };
    if (refusal !== undefined) return problem('Invalid', refusal.message);
    return pending === undefined ? undefined : problem('Pending', pending);
  }
}

interface AllowedUse extends Pick<TargetUse, 'program'> {
  readonly gateway: Gateway;
}

/** The use of a target by a Gateway that allows it; nothing for any other one. */
const allowedUse = ({ gateway, targets }: McpUse, target: string): readonly AllowedUse[] =>
  targets
    .filter(({ name, wrong }) => name === target && wrong?.as !== 'refused')
    .map((use) => ({ ...use, gateway: gateway.object }));
