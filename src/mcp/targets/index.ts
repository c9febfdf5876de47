import type { McpTarget, McpTargets } from '../../model/index.ts';
import { mayBeEitherEra, type ResumableKind } from './facts.ts';
import { httpRuntime } from './http/index.ts';
import { sseRuntime } from './sse/index.ts';
import { openapiRuntime } from './openapi/index.ts';
import { EraConnection, type EraStart } from './modern/eraConnection.ts';
import { EraVerdicts } from './modern/eraVerdicts.ts';
import { serverOf } from './sameServer.ts';
import { stdioRuntime } from './stdio/index.ts';
import type { TargetConnection, TargetPlace } from './kind/target.ts';
import type {
  ResumableRuntime,
  TakenUp,
  TargetRuntime,
  TargetServices,
  TargetUse,
} from './kind/targetRuntime.ts';

type TargetKind = keyof McpTargets;
type Runtimes = { readonly [Kind in TargetKind]: TargetRuntime<McpTargets[Kind]> };

/** The run-time part that the facts about a kind ask for. */
type RuntimeOf<Kind extends TargetKind> = Kind extends ResumableKind
  ? ResumableRuntime<McpTargets[Kind]>
  : TargetRuntime<McpTargets[Kind]>;

/** Kind of MCP target → run-time part. The facts about kinds are in `facts.ts`. */
const runtimesOf = (services: TargetServices) =>
  ({
    stdio: stdioRuntime(services),
    http: httpRuntime(services),
    sse: sseRuntime(services),
    openapi: openapiRuntime(services),
  }) as const satisfies { readonly [Kind in TargetKind]: RuntimeOf<Kind> };

/** The time for a child to answer in an era that it may not know, in milliseconds. */
const longestProbeMs = 15_000;

/** The connections of one process to MCP targets of every kind. */
export class Targets {
  private readonly runtimes: Runtimes;
  private readonly services: TargetServices;
  private readonly verdicts: EraVerdicts;

  constructor(services: TargetServices) {
    this.services = services;
    this.runtimes = runtimesOf(services);
    this.verdicts = new EraVerdicts(services.now);
  }

  /** @throws GatewayError policy_failed */
  connect(target: McpTarget, use: TargetUse): TargetConnection {
    return mayBeEitherEra(target)
      ? EraConnection.connect(this.eraStart(target, use))
      : this.connection(target.kind, target, use);
  }

  /**
   * Continues a session of another process.
   * @throws GatewayError policy_failed
   */
  takeUp(target: McpTarget, use: TargetUse, place: TargetPlace): TakenUp {
    const takeUp = (as: TargetUse): TakenUp => this.takenUp(target.kind, target, as, place);
    return mayBeEitherEra(target)
      ? EraConnection.takeUp(this.eraStart(target, use), place, takeUp)
      : takeUp(use);
  }

  private eraStart(target: McpTarget, use: TargetUse): EraStart {
    const { limits, now } = this.services;
    return {
      name: target.name,
      use,
      server: serverOf(target),
      probeMs: target.kind === 'stdio' ? Math.min(longestProbeMs, target.startTimeoutMs / 2) : undefined,
      verdicts: this.verdicts,
      connect: (as) => this.connection(target.kind, target, as),
      limits,
      now,
    };
  }

  /** Child processes, those on their way out included. */
  get children(): number {
    return this.all.reduce((sum, { children }) => sum + (children?.() ?? 0), 0);
  }

  /** After a reload: lets go of what belongs to backends whose key is not in the set. */
  retire(liveKeys: ReadonlySet<string>): void {
    for (const { retire } of this.all) retire?.(liveKeys);
  }

  /** Resolves (never rejects) when nothing of any target is left. */
  async close(graceMs: number): Promise<void> {
    await Promise.all(this.all.flatMap(({ close }) => close?.(graceMs) ?? []));
  }

  private get all(): readonly Pick<TargetRuntime<McpTarget>, 'children' | 'close' | 'retire'>[] {
    return Object.values(this.runtimes);
  }

  private connection<Kind extends TargetKind>(
    kind: Kind,
    target: McpTargets[Kind],
    use: TargetUse,
  ): TargetConnection {
    return this.runtimes[kind].connect(target, use);
  }

  private takenUp<Kind extends TargetKind>(
    kind: Kind,
    target: McpTargets[Kind],
    use: TargetUse,
    place: TargetPlace,
  ): TakenUp {
    const { takeUp } = this.runtimes[kind];
    if (takeUp === undefined) throw new Error(`the sessions of ${kind} targets cannot be continued`);
    return takeUp(target, use, place);
  }
}
