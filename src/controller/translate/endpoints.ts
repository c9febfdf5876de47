import type { BackendAddress } from '../../model/index.ts';
import type { Endpoint, EndpointSlice, Node, Service, ServicePort } from '../types/index.ts';
import type { EndpointTable, KubeObjects } from './contract.ts';
import { keyOfNamed, type ByName } from './lookup.ts';

const SERVICE_LABEL = 'kubernetes.io/service-name';
const ZONE_LABEL = 'topology.kubernetes.io/zone';

/** Key of the addresses of a port of a Service. */
export const endpointKey = (service: string, { port, protocol = 'TCP' }: ServicePort): string =>
  `${service}:${port}/${protocol}`;

/**
 * Most addresses of a port of a Service that are used: a list goes to proxies in one line, and whoever may write
 * EndpointSlices must not be able to write one that keeps the model from them.
 */
const mostAddresses = 10_000;

/** A proxy takes no longer ones, and the API server does not look at zones. */
const [longestHost, longestZone] = [255, 255];

/** Addresses of ports of a Service, with the slices and zones that they were found in. */
type Found = Map<string, Finding>;

interface Finding {
  readonly slices: readonly EndpointSlice[];
  readonly zones: Zones;
  readonly addresses: readonly BackendAddress[];
}

/** By name of a node. */
type Zones = ReadonlyMap<string, string>;

/**
 * The results are remembered as long as the Service lives, and hold for the very objects they were found in: of
 * twenty thousand addresses few change at a time. The same list is the same object, so that others need not
 * compare it.
 */
const remembered = new WeakMap<Service, Found>();
let lastZones: Zones = new Map();

/** The addresses behind the ports of Services with these keys (`endpointKey`). */
export function addressesIn(
  { services, endpointSlices, nodes }: KubeObjects,
  keys: Iterable<string>,
): EndpointTable {
  const byName = new Map(services.map((service) => [keyOfNamed(service), service]));
  return new EndpointFinder(byName, endpointSlices, nodes).table(keys);
}

/**
 * Finds the addresses behind ports of Services. It knows nothing of routes: where only EndpointSlices or Nodes changed,
 * this alone has to run again.
 */
export class EndpointFinder {
  private readonly services: ByName<Service>;
  private readonly slices = new Map<string, EndpointSlice[]>();
  private readonly zones: Zones;

  /** @param services by `namespace/name` */
  constructor(services: ByName<Service>, slices: readonly EndpointSlice[], nodes: readonly Node[]) {
    this.services = services;
    for (const slice of slices) {
      const service = slice.metadata.labels?.[SERVICE_LABEL];
      if (service === undefined) continue;
      const key = `${slice.metadata.namespace}/${service}`;
      const others = this.slices.get(key);
      if (others === undefined) this.slices.set(key, [slice]);
      else others.push(slice);
    }
    this.zones = zonesOf(nodes);
  }

  /** @param keys of `endpointKey`; what they name no more has no addresses */
  table(keys: Iterable<string>): EndpointTable {
    const table = new Map<string, readonly BackendAddress[]>();
    for (const key of keys) table.set(key, this.addresses(key));
    return table;
  }

  private addresses(key: string): readonly BackendAddress[] {
    const [, name = '', number, protocol = 'TCP'] = /^(.*):(\d+)\/(\w+)$/.exec(key) ?? [];
    const service = this.services.get(name);
    const port = service?.spec?.ports?.find(
      (one) => one.port === Number(number) && (one.protocol ?? 'TCP') === protocol,
    );
    const slices = this.slices.get(name);
    if (service === undefined || port === undefined || slices === undefined) return [];
    let found = remembered.get(service);
    if (found === undefined) remembered.set(service, (found = new Map()));
    const known = found.get(key);
    if (known?.zones === this.zones && isSameList(known.slices, slices)) return known.addresses;
    const addresses = this.find(service, port, slices);
    found.set(key, { slices, zones: this.zones, addresses });
    return addresses;
  }

  private find(
    service: Service,
    port: ServicePort,
    slices: readonly EndpointSlice[],
  ): readonly BackendAddress[] {
    // A pod of a dual-stack Service is in a slice of each family: through the second one it would count twice.
    const first = service.spec?.ipFamilies?.[0] ?? 'IPv4';
    const second = first === 'IPv4' ? 'IPv6' : 'IPv4';
    const found = this.ofFamily(slices, first, port);
    return found.length > 0 ? found : this.ofFamily(slices, second, port);
  }

  /**
   * The ready addresses; if there are none, those that still serve while they end (as kube-proxy does), so that a
   * rolling update of the last pod loses nothing.
   */
  private ofFamily(slices: readonly EndpointSlice[], family: string, port: ServicePort): BackendAddress[] {
    const ready = new Map<string, BackendAddress>();
    const ending = new Map<string, BackendAddress>();
    for (const { addressType, endpoints, ports } of slices) {
      if (addressType !== family) continue;
      // Named ports of pods are resolved here already: each slice has the number for its pods.
      const number = ports?.find(
        (one) =>
          (one.name ?? '') === (port.name ?? '') && (one.protocol ?? 'TCP') === (port.protocol ?? 'TCP'),
      )?.port;
      if (number === undefined) continue;
      for (const endpoint of endpoints ?? []) this.sort(endpoint, number, ready, ending);
    }
    // In an order of their own: the same addresses in other slices are no change.
    return [...(ready.size > 0 ? ready : ending)]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .slice(0, mostAddresses)
      .map(([, one]) => one);
  }

  private sort(
    endpoint: Endpoint,
    port: number,
    ready: Map<string, BackendAddress>,
    ending: Map<string, BackendAddress>,
  ): void {
    const { addresses, conditions = {}, nodeName } = endpoint;
    const [host] = addresses;
    if (host === undefined || host.length > longestHost) return;
    const said = endpoint.zone ?? this.zones.get(nodeName ?? '');
    const zone = said === undefined || said.length > longestZone ? undefined : said;
    // A missing condition means ready (EndpointConditions).
    const isReady = conditions.ready ?? true;
    const list = isReady
      ? ready
      : conditions.serving === true && conditions.terminating === true
        ? ending
        : undefined;
    list?.set(`${host} ${port}`, { host, port, ...(zone === undefined ? {} : { zone }) });
  }
}

/** The same object where they are the same as the last time: nodes come and go, zones hardly. */
function zonesOf(nodes: readonly Node[]): Zones {
  const zones = new Map<string, string>();
  for (const { metadata } of nodes) {
    const zone = metadata.labels?.[ZONE_LABEL];
    if (zone !== undefined) zones.set(metadata.name, zone);
  }
  const same =
    zones.size === lastZones.size && [...zones].every(([name, zone]) => lastZones.get(name) === zone);
  if (!same) lastZones = zones;
  return lastZones;
}

const isSameList = <Item>(a: readonly Item[], b: readonly Item[]): boolean =>
  a.length === b.length && a.every((item, index) => item === b[index]);
