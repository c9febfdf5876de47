import { heldCallerOf, sseSessionOf } from '../../mcp/index.ts';
import type { Limits } from '../../model/index.ts';
import { hashOf, lotOf } from '../../upstream/index.ts';
import type { LiveExchange, RelayRouter } from '../exchange/liveExchange.ts';
import { increment } from '../stats/counts.ts';
import { RelayServer } from './relayServer.ts';
import type { PortTools } from '../ports/port.ts';
import { Relay } from './relay.ts';
import { writeRelayHeader, type RelayHeader } from './relayHeader.ts';
import type { RelayPeer } from '../connections/relayLines.ts';
import { RelayPort } from './relayPort.ts';

export interface RelayOptions {
  /** The secret by which the workers know each other: 64 hexadecimal digits. */
  readonly secret: string;
  /** The path of the socket on which this worker is reached. */
  readonly path: string;
}

/**
 * Brings requests of MCP sessions to the worker that holds them, and takes in those that others bring. A session cannot
 * move, since its servers are children of one process, and the system deals out connections without knowing of it.
 */
export class Relays implements RelayRouter {
  private readonly options: RelayOptions;
  private readonly tools: PortTools;
  /** Finds the process that owns a session; undefined for our own sessions, and for invalid ids. */
  private readonly ownerOf: (session: string) => string | undefined;
  /** Could another process go on with it? */
  private readonly movable: (session: string) => boolean;
  private readonly server: RelayServer;
  /** By the key of their bind. */
  private readonly ports = new Map<string, RelayPort>();
  private peers: ReadonlyMap<string, RelayPeer> = new Map();
  private limits: Limits;

  constructor(
    options: RelayOptions,
    tools: PortTools,
    limits: Limits,
    ownerOf: (session: string) => string | undefined,
    movable: (session: string) => boolean,
  ) {
    this.options = options;
    this.tools = tools;
    this.limits = limits;
    this.ownerOf = ownerOf;
    this.movable = movable;
    this.server = new RelayServer(options.secret, (header, socket) => {
      this.portOf(header.bind).admitRelayed(header, socket);
    });
  }

  /** @throws the system's error */
  listen(): Promise<void> {
    return this.server.listen(this.options.path);
  }

  /** The workers there are, this one may be among them. */
  usePeers(peers: readonly RelayPeer[]): void {
    this.peers = new Map(peers.map((peer) => [peer.owner, peer]));
  }

  /** @param keys of the binds there are */
  configure(limits: Limits, keys: { has(key: string): boolean }): void {
    this.limits = limits;
    for (const [key, port] of this.ports) {
      port.configure(limits);
      if (keys.has(key) || port.open > 0) continue;
      port.destroy();
      this.ports.delete(key);
    }
  }

  take(exchange: LiveExchange, serveHere: () => void): boolean {
    const { connection, head } = exchange;
    if (connection.port.inner) return false;
    const caller = heldCallerOf(exchange);
    const session = head.get('mcp-session-id') ?? sseSessionOf(exchange);
    // Requests of the modern era know of no session: what a client leaves between them is where all of them go.
    const peer = caller === undefined ? this.ownerOrHeirOf(session) : this.chosen(caller);
    // Requests that MCP cannot use stay here, where their session is not known.
    if (peer === undefined || head.upgrade || (head.http10 && head.host === -1)) return false;
    const { wire } = this.tools;
    wire.relays++;
    const header = (): Buffer => writeRelayHeader(this.options.secret, headerOf(exchange));
    new Relay(
      exchange,
      connection.lines.to(peer, exchange.version, this.limits),
      header,
      serveHere,
      (outcome) => {
        wire.relays--;
        increment(wire.relayed, outcome);
      },
    ).start();
    return true;
  }

  private ownerOrHeirOf(session: string | undefined): RelayPeer | undefined {
    const owner = session === undefined ? undefined : this.ownerOf(session);
    if (session === undefined || owner === undefined) return undefined;
    const peer = this.peers.get(owner);
    // No other worker can go on with some sessions.
    return peer ?? (this.movable(session) ? this.chosen(session) : undefined);
  }

  /** The same worker for all who ask, so that everything of a name is in one place; undefined where that is this one. */
  private chosen(name: string): RelayPeer | undefined {
    const key = hashOf(name);
    let heir: RelayPeer | undefined;
    let most = -1;
    for (const peer of this.peers.values()) {
      // The highest lot wins: when workers come and go, few sessions change hands.
      const lot = lotOf(key, hashOf(peer.owner));
      if (lot > most) [heir, most] = [peer, lot];
    }
    return heir?.path === this.options.path ? undefined : heir;
  }

  /** Resolves when nothing of other workers is under way. */
  async drain(): Promise<void> {
    await Promise.all([...this.ports.values()].map((port) => port.drain()));
  }

  close(): void {
    this.server.close();
    for (const port of this.ports.values()) port.destroy();
  }

  /** The port continues to serve on a bind that was removed: such requests find no listener. */
  private portOf(key: string): RelayPort {
    let port = this.ports.get(key);
    if (port === undefined) {
      port = new RelayPort(key, this.limits, this.tools);
      this.ports.set(key, port);
    }
    return port;
  }
}

function headerOf(exchange: LiveExchange): RelayHeader {
  // The connection's own end: the worker there reads for itself what proxies say of the client of each request.
  const { tls, clientCertificate, port, remoteAddress, reported } = exchange.connection;
  const { serverName } = exchange;
  const peer = reported?.peer;
  return {
    bind: port.key,
    version: exchange.version,
    address: remoteAddress,
    port: exchange.connectionPort,
    localAddress: exchange.localAddress,
    localPort: exchange.localPort,
    ...(peer && { peer }),
    ...(tls && {
      tls: {
        listener: tls.listener,
        ...(tls.terms !== undefined && { terms: tls.terms }),
        ...(serverName !== undefined && { serverName }),
        ...(clientCertificate && { certificate: clientCertificate }),
      },
    }),
  };
}
