import { messageOf } from '../../errorText.ts';
import { FairShare } from '../../http/index.ts';
import type {
  AddressLists,
  Bind,
  Limits,
  Model,
  UdpBackend,
  UdpListener,
  UpstreamSettings,
} from '../../model/index.ts';
import { DatagramDestination, type LookupTools } from '../../upstream/index.ts';
import { bindProblem, type ClosedPort } from './bindProblem.ts';
import { bindKey } from '../snapshot/snapshot.ts';
import type { StatsByRoute } from '../stats/tcpStats.ts';
import type { UdpFlow } from '../streams/udpFlow.ts';
import { UdpPort, type CompiledUdpRoute, type Datagrams, type UdpFlows, type UdpTools } from './udpPort.ts';
import type { UdpStats } from '../stats/udpStats.ts';
import { byWeight } from '../routing/weights.ts';

export interface UdpPlaneTools extends Omit<UdpTools, 'flows'> {
  readonly stats: StatsByRoute<UdpStats>;
  readonly lookup?: LookupTools | undefined;
  /** Asked for each port that is opened. */
  readonly datagrams: () => Datagrams;
}

/** The address to bind, and the bind of the model that wants it. */
interface Wanted {
  readonly bind: Bind;
  readonly listener: UdpListener;
}

/** A bind may be of datagrams alone: then no connection is accepted there. */
export const acceptsConnections = ({ listeners }: Bind): boolean =>
  listeners.length === 0 || listeners.some(({ protocol }) => protocol !== 'UDP');

/** All ports for datagrams, and the way from one model to the next: wholly or not at all. */
export class UdpPlane {
  private readonly tools: UdpPlaneTools;
  private readonly share = new FairShare<UdpFlow>(() => this.counted());
  private readonly flows: UdpFlows = {
    open: 0,
    makeRoom: (open, most) => this.share.makeRoom(open, most),
  };
  private readonly ports = new Map<string, UdpPort>();
  private readonly leaving = new Set<UdpPort>();
  private destinations = new Map<string, DatagramDestination>();

  constructor(tools: UdpPlaneTools) {
    this.tools = tools;
  }

  get views(): readonly { readonly key: string; readonly port: number; readonly connections: number }[] {
    return [...this.ports.values()].map(({ key, port, open }) => ({ key, port, connections: open }));
  }

  /** @throws Error when a new port cannot be bound and is not optional; nothing has changed then */
  async prepare(
    model: Model,
    limits: Limits,
  ): Promise<{ readonly closed: readonly ClosedPort[]; commit(): void; abort(): void }> {
    const wanted = new Map<string, Wanted>();
    for (const [index, bind] of model.binds.entries())
      for (const listener of bind.listeners)
        if (listener.protocol === 'UDP') wanted.set(`udp/${bindKey(bind, index)}`, { bind, listener });
    const destinations = new Map<string, DatagramDestination>();
    const routes = new Map<string, CompiledUdpRoute>();
    for (const [key, { listener }] of wanted)
      routes.set(key, this.compile(key, listener, model.process.upstream, destinations));
    const opened = new Map<string, UdpPort>();
    const closed: ClosedPort[] = [];
    const abort = (): void => {
      for (const port of opened.values()) port.destroy();
      closeOthers(destinations, this.destinations);
    };
    try {
      for (const [key, route] of routes) {
        const { bind } = wanted.get(key) as Wanted;
        if (this.ports.has(key)) continue;
        try {
          opened.set(key, await this.open(key, bind, route, limits));
        } catch (error) {
          if (bind.optional !== true) throw error;
          const problem = messageOf(error);
          closed.push({ key, port: bind.port, protocol: 'UDP', problem });
        }
      }
    } catch (error) {
      abort();
      throw error;
    }
    const commit = (): void => {
      for (const [key, port] of opened) this.ports.set(key, port);
      for (const [key, port] of this.ports) {
        const route = routes.get(key);
        if (route === undefined) this.retire(key, port);
        else port.configure(route, limits);
      }
      for (const destination of destinations.values()) destination.configure(model.process.upstream);
      closeOthers(this.destinations, destinations);
      const used = new Set([...routes.values()].map(({ stats }) => stats));
      this.tools.stats.retireOthers(used, ({ open }) => open > 0);
      this.destinations = destinations;
    };
    return { closed, commit, abort };
  }

  /** See `Endpoints.useAddresses`. */
  useAddresses(lists: AddressLists, settings: UpstreamSettings): void {
    for (const destination of this.destinations.values()) {
      const { endpoints } = destination.target;
      const addresses = endpoints === undefined ? undefined : lists.get(endpoints);
      if (addresses !== undefined) destination.useAddresses(addresses, settings);
    }
    this.destinations = new Map(
      Array.from(this.destinations.values(), (destination) => [
        JSON.stringify(destination.target),
        destination,
      ]),
    );
    for (const port of this.ports.values()) port.forgetMoved();
  }

  async drain(patienceMs = 0): Promise<void> {
    await Promise.all([
      ...[...this.ports.values()].map((port) => port.drain(patienceMs)),
      ...[...this.leaving].map((port) => port.drain()),
    ]);
  }

  close(): void {
    for (const port of [...this.ports.values(), ...this.leaving]) port.destroy();
    this.ports.clear();
    this.leaving.clear();
    for (const destination of this.destinations.values()) destination.close();
    this.destinations.clear();
  }

  private *counted(): Iterable<UdpFlow> {
    for (const port of this.ports.values()) yield* port.counted();
    for (const port of this.leaving) yield* port.counted();
  }

  private compile(
    key: string,
    { name: listener, udpRoutes: [route] }: UdpListener,
    settings: UpstreamSettings,
    destinations: Map<string, DatagramDestination>,
  ): CompiledUdpRoute {
    const name = route?.name ?? '';
    const drawn = (route?.backends ?? []).map((backend) => ({
      weight: backend.weight,
      value: backend.kind === 'udp' ? this.use(backend, settings, destinations) : undefined,
    }));
    return {
      name,
      listener,
      draw: byWeight(drawn) ?? (() => undefined),
      destinations: new Set(
        drawn.flatMap(({ weight, value }) => (weight > 0 && value !== undefined ? [value] : [])),
      ),
      stats: this.tools.stats.of(key, listener, name),
    };
  }

  private use(
    { host, port, addresses, endpoints }: UdpBackend,
    settings: UpstreamSettings,
    destinations: Map<string, DatagramDestination>,
  ): DatagramDestination {
    const target = {
      host,
      port,
      ...(addresses === undefined ? {} : { addresses }),
      ...(endpoints === undefined ? {} : { endpoints }),
    };
    const key = JSON.stringify(target);
    let destination = destinations.get(key) ?? this.destinations.get(key);
    destination ??= new DatagramDestination(target, settings, this.tools.log, this.tools.lookup);
    destinations.set(key, destination);
    return destination;
  }

  private async open(key: string, bind: Bind, route: CompiledUdpRoute, limits: Limits): Promise<UdpPort> {
    const others = this.tools.datagrams();
    // Each process would get another one.
    if (others === 'shared' && bind.port === 0)
      throw new Error('UDP port 0 cannot be shared by several workers: set a port number');
    const port = new UdpPort(key, route, limits, { ...this.tools, flows: this.flows });
    try {
      await port.listen(bind.port, bind.address, others);
    } catch (error) {
      port.destroy();
      throw bindProblem(bind, error, this.ports.values());
    }
    return port;
  }

  private retire(key: string, port: UdpPort): void {
    this.ports.delete(key);
    this.leaving.add(port);
    void port.drain().then(() => {
      port.destroy();
      this.leaving.delete(port);
    });
  }
}

/** Closes what is in one and not in the other. */
function closeOthers(
  these: ReadonlyMap<string, DatagramDestination>,
  those: ReadonlyMap<string, DatagramDestination>,
): void {
  const kept = new Set(those.values());
  for (const destination of these.values()) if (!kept.has(destination)) destination.close();
}
