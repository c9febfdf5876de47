import { problem, type Problem } from './conditions.ts';
import type { ProxyTrouble } from './contract.ts';
import { listenersOf, type GatewayState } from './state.ts';

/** The parts of models that the proxies of Gateways could not serve, for statuses. */
export class ProxyTroubles {
  private readonly refusals = new Map<string, string>();
  /** By Gateway and the object that the route comes from. */
  private readonly broken = new Map<string, string[]>();
  /** By Gateway, protocol and port. */
  private readonly closed = new Map<string, string>();

  constructor(byGateway: ReadonlyMap<string, readonly ProxyTrouble[]>) {
    for (const [gateway, troubles] of byGateway) {
      const refused = troubles.flatMap((trouble) => trouble.refused);
      if (refused.length > 0) this.refusals.set(gateway, [...new Set(refused)].join('; '));
      // Each replica says the same, as a rule.
      const routes = new Map(
        troubles.flatMap(({ broken }) => broken.map((one) => [one.route, one.problem] as const)),
      );
      for (const [route, why] of routes) this.addRoute(gateway, route, why);
      for (const { port, protocol, problem: why } of troubles.flatMap(({ closed = [] }) => closed))
        this.closed.set(portKey(gateway, protocol, port), why);
    }
  }

  /** The reason why proxies of the Gateway reject its model: the one before stays in use. */
  refusal(gateway: string): Problem | undefined {
    const why = this.refusals.get(gateway);
    return why === undefined ? undefined : problem('Invalid', `a proxy does not take it: ${why}`);
  }

  /** Notes the listeners whose ports a proxy could not bind. */
  noteClosed(gateway: GatewayState): void {
    for (const listener of listenersOf(gateway)) {
      const { protocol, port } = listener.spec;
      listener.closed = this.closed.get(portKey(gateway.key, protocol === 'UDP' ? 'UDP' : 'TCP', port));
    }
  }

  /** @param object `kind/namespace/name` */
  ofRoute(gateway: string, object: string): Problem | undefined {
    const all = this.broken.get(`${gateway} ${object}`);
    return all === undefined ? undefined : problem('UnsupportedValue', all.join('; '));
  }

  private addRoute(gateway: string, route: string, why: string): void {
    // Names of routes begin with their object and go on with that of the rule, or its number.
    const [, object, rule = ''] = /^([^/]+\/[^/]+\/[^/#]+)[/#](.*)$/.exec(route) ?? [];
    if (object === undefined) return;
    const key = `${gateway} ${object}`;
    const told = `rule ${rule} answers 500: ${why}`;
    const others = this.broken.get(key);
    if (others === undefined) this.broken.set(key, [told]);
    else others.push(told);
  }
}

const portKey = (gateway: string, protocol: string, port: number): string =>
  `${gateway} ${protocol} ${String(port)}`;
