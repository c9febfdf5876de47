import { problem, type Problem } from './conditions.ts';
import { HostSet } from './hostSet.ts';
import { terminates } from './listeners.ts';
import type { ListenerState } from './state.ts';

/** The claims on a port of TCP or UDP. */
interface Taken {
  /** Listeners that take everything that comes. */
  whole: number;
  /** Listeners that tell by host name what is theirs, by how they do it. */
  readonly named: Map<string, number>;
}

/**
 * Notes which listeners of a Gateway cannot stand beside each other (Gateway API, "Handling indistinct Listeners"):
 * among those of one object all that are alike are out, between objects the one that comes first stays.
 *
 * @param owners the listeners of the Gateway, then those of each ListenerSet in their order
 */
export function noteConflicts(owners: readonly (readonly ListenerState[])[]): void {
  const before = new Map<string, Taken>();
  for (const listeners of owners) {
    const live = listeners.filter(({ claims }) => claims);
    // A listener that loses to another object does no harm to the others of its own.
    for (const listener of live) listener.conflict = conflictWith(before, listener, 0);
    const left = live.filter(({ conflict }) => conflict === undefined);
    const own = new Map<string, Taken>();
    for (const listener of left) take(own, listener);
    for (const listener of left) listener.conflict = conflictWith(own, listener, 1);
    for (const listener of live) if (listener.conflict === undefined) take(before, listener);
  }
  noteOverlaps(owners.flat());
}

/** Plain HTTP and TLS are told apart by the first byte, hosts of TLS by the server name, whatever is spoken within. */
const slots: Readonly<Record<string, 'plain' | 'secure'>> = { HTTP: 'plain', HTTPS: 'secure', TLS: 'secure' };

const portOf = ({ spec }: ListenerState): string => `${spec.protocol === 'UDP' ? 'udp' : 'tcp'}/${spec.port}`;

function slotOf({ spec }: ListenerState): string | undefined {
  const slot = slots[spec.protocol];
  return slot === undefined ? undefined : `${slot} ${spec.hostname ?? ''}`;
}

function take(ports: Map<string, Taken>, listener: ListenerState): void {
  const port = portOf(listener);
  let taken = ports.get(port);
  if (taken === undefined) ports.set(port, (taken = { whole: 0, named: new Map() }));
  const slot = slotOf(listener);
  if (slot === undefined) taken.whole++;
  else taken.named.set(slot, (taken.named.get(slot) ?? 0) + 1);
}

/** @param own how often the listener itself is counted */
function conflictWith(
  ports: ReadonlyMap<string, Taken>,
  listener: ListenerState,
  own: 0 | 1,
): Problem | undefined {
  const taken = ports.get(portOf(listener));
  if (taken === undefined) return undefined;
  const { spec } = listener;
  const slot = slotOf(listener);
  if (slot === undefined ? taken.whole > own || taken.named.size > 0 : taken.whole > 0)
    return problem(
      'ProtocolConflict',
      `port ${spec.port} cannot be shared between protocol ${spec.protocol} and that of another listener`,
    );
  if (slot !== undefined && (taken.named.get(slot) ?? 0) > own)
    return problem(
      'HostnameConflict',
      `another listener of port ${spec.port} has ${spec.hostname === undefined ? 'every host' : spec.hostname}`,
    );
  return undefined;
}

/** Listeners whose certificates could be shown for each other's hosts. */
function noteOverlaps(listeners: readonly ListenerState[]): void {
  const ports = new Map<number, HostSet>();
  const secure = listeners.filter(
    ({ spec, refused, conflict }) => terminates(spec) && refused === undefined && conflict === undefined,
  );
  for (const { spec } of secure) {
    let hosts = ports.get(spec.port);
    if (hosts === undefined) ports.set(spec.port, (hosts = new HostSet()));
    hosts.add(spec.hostname);
  }
  for (const listener of secure)
    listener.overlaps = ports.get(listener.spec.port)?.meetsOther(listener.spec.hostname) === true;
}
