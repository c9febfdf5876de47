import { createSocket, type RemoteInfo, type Socket, type SocketOptions } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { errorOf } from '../../errorText.ts';
import type { LargestHolder } from '../../http/index.ts';
import type { Limits } from '../../model/index.ts';
import { LogThrottle, type AccessRecord, type Logger } from '../../telemetry/index.ts';
import type { DatagramDestination } from '../../upstream/index.ts';
import { bindOn } from './bindOn.ts';
import type { Overload } from '../load/overload.ts';
import { rawRecord } from '../stats/rawRecord.ts';
import { peerOf } from '../connections/reportedEnds.ts';
import { QUEUE_MOST, UdpFlow, type FlowOwner } from '../streams/udpFlow.ts';
import type { UdpDrop, UdpResult, UdpStats } from '../stats/udpStats.ts';

const SWEEP_MS = 500;
/** A drain waits until no datagram has come or gone for so long. */
const QUIET_MS = 1_000;

/**
 * The processes that have the ports open: this process alone; this process first, or with the program before it,
 * while others may follow; or several workers.
 */
export type Datagrams = 'alone' | 'first' | 'joining' | 'shared';

/** The route of a UDP listener, ready to take datagrams. */
export interface CompiledUdpRoute {
  readonly name: string;
  readonly listener: string;
  /** Draws the destination of the next client's datagrams; undefined: none. */
  readonly draw: () => DatagramDestination | undefined;
  /** All that may be drawn. */
  readonly destinations: ReadonlySet<DatagramDestination>;
  readonly stats: UdpStats;
}

export interface UdpTools {
  readonly log: Logger;
  /** Logs what a client has sent and got. */
  readonly writeRaw: (record: () => AccessRecord) => void;
  readonly overload: Overload;
  /** Clients of all ports together, and those that give way to a new one. */
  readonly flows: UdpFlows;
}

export interface UdpFlows {
  open: number;
  makeRoom(open: number, most: number): LargestHolder<UdpFlow> | undefined;
}

/** A bound port for datagrams, and the clients that are known there. */
export class UdpPort implements FlowOwner {
  readonly key: string;
  private readonly tools: UdpTools;
  private socket: Socket | undefined;
  private route: CompiledUdpRoute;
  private limits: Limits;
  private readonly flows = new Map<string, UdpFlow>();
  private readonly timer: NodeJS.Timeout;
  private draining = false;
  private readonly settled: (() => void)[] = [];
  private readonly errorLog = new LogThrottle();
  private readonly largestHolderLog = new LogThrottle();

  constructor(key: string, route: CompiledUdpRoute, limits: Limits, tools: UdpTools) {
    this.key = key;
    this.route = route;
    this.limits = limits;
    this.tools = tools;
    this.timer = setInterval(() => this.sweep(Date.now()), SWEEP_MS);
    this.timer.unref();
  }

  /**
   * Binds on one address, or on all of them: IPv4 alone where IPv6 is off.
   * @param others who else has it open
   * @throws the system's error, as EADDRINUSE
   */
  async listen(port: number, address: string | undefined, others: Datagrams): Promise<void> {
    this.socket = await bindOn(address, (host) => this.openOne(port, host, others));
  }

  /** 0 while it is not bound. */
  get port(): number {
    return this.socket?.address().port ?? 0;
  }

  /** Every client that counts against the limit. */
  counted(): Iterable<UdpFlow> {
    return this.flows.values();
  }

  /** Known clients. */
  get open(): number {
    return this.flows.size;
  }

  /** Takes a new route into use. Clients stay with their backend while that is one of its. */
  configure(route: CompiledUdpRoute, limits: Limits): void {
    this.route = route;
    this.limits = limits;
    this.forgetMoved();
  }

  /**
   * Takes no new clients; resolves when those that are known have got their answers, as far as can be told.
   * @param patienceMs another process has the port open: what the system gives to this one has nobody else to go to, so
   *   new clients are still taken, and it resolves after this time at the latest
   */
  drain(patienceMs = 0): Promise<void> {
    this.draining = patienceMs === 0;
    if (patienceMs > 0) setTimeout(() => this.settle(), patienceMs).unref();
    return this.quiet(Date.now())
      ? Promise.resolve()
      : new Promise((resolve) => void this.settled.push(resolve));
  }

  /** Ends everything now. */
  destroy(): void {
    this.draining = true;
    clearInterval(this.timer);
    for (const flow of [...this.flows.values()]) flow.end('closed');
    this.socket?.close();
    this.socket = undefined;
    this.settle();
  }

  // FlowOwner

  answer(bytes: Buffer, { client }: UdpFlow): boolean {
    const { socket } = this;
    if (socket === undefined || socket.getSendQueueSize() > QUEUE_MOST) return false;
    // A datagram that cannot be sent is lost, as datagrams may be.
    socket.send(bytes, client.port, client.address, () => undefined);
    return true;
  }

  ended(flow: UdpFlow, result: UdpResult): void {
    const { client, backend } = flow;
    this.flows.delete(keyOf(client));
    this.tools.flows.open--;
    this.tools.writeRaw(() =>
      rawRecord({
        ...flow.record,
        bind: this.key,
        client: peerOf({ remoteAddress: client.address }),
        backend: backend.name,
        error: result === 'refused' ? 'upstream_connect_failed' : undefined,
        reason: result === 'moved' ? 'the backend is none of the route any more' : undefined,
      }),
    );
  }

  private settle(): void {
    for (const settle of this.settled.splice(0)) settle();
  }

  private async openOne(port: number, address: string, others: Datagrams): Promise<Socket> {
    // A port that others may join lets any program of this user in that asks for it: a second gateway started by
    // mistake is noticed first.
    if (others === 'first' && port !== 0) await closed(await this.bind(port, address, false));
    return await this.bind(port, address, others !== 'alone');
  }

  private bind(port: number, address: string, reusePort: boolean): Promise<Socket> {
    const options: SocketOptions & { reusePort?: boolean } = {
      type: isIPv6(address) ? 'udp6' : 'udp4',
      ...(reusePort ? { reusePort } : {}),
    };
    const socket = createSocket(options);
    return new Promise((resolve, reject) => {
      socket.once('error', (error) => {
        socket.close();
        reject(error);
      });
      socket.bind({ port, address }, () => {
        socket.removeAllListeners('error');
        socket.on('error', (error) => this.failed(error));
        socket.on('message', (bytes, from) => this.onMessage(bytes, from));
        resolve(socket);
      });
    });
  }

  private onMessage(bytes: Buffer, from: RemoteInfo): void {
    // A client that sends from port 0 wants no answer (RFC 768), and the system has none to send one to.
    if (from.port === 0) {
      this.route.stats.drop('unanswerable');
      return;
    }
    // An error that is thrown in here costs this datagram, not the process.
    try {
      (this.flows.get(keyOf(from)) ?? this.begin(from))?.send(bytes);
    } catch (error) {
      this.failed(errorOf(error));
    }
  }

  private begin({ address, port }: RemoteInfo): UdpFlow | undefined {
    const { route, tools } = this;
    const { maxUdpFlows } = this.limits;
    if (!this.draining) this.endLongestIdle(tools.flows.makeRoom(tools.flows.open, maxUdpFlows));
    const full = tools.flows.open >= maxUdpFlows;
    const refusal: UdpDrop | undefined = this.draining
      ? 'draining'
      : full
        ? 'too_many'
        : tools.overload.level === 'shed'
          ? 'overload'
          : undefined;
    const destination = refusal === undefined ? route.draw() : undefined;
    const backend = destination?.pick();
    if (destination === undefined || backend === undefined) {
      route.stats.drop(refusal ?? 'no_backend');
      return undefined;
    }
    const flow = new UdpFlow(this, { address, port }, route, destination, backend);
    tools.flows.open++;
    this.flows.set(keyOf(flow.client), flow);
    return flow;
  }

  private endLongestIdle(largest: LargestHolder<UdpFlow> | undefined): void {
    if (largest === undefined) return;
    const { longestIdle, holder, holds } = largest;
    if (this.largestHolderLog.take())
      this.tools.log.warn(
        'Idle clients forgotten: above 80 % of limits.maxUdpFlows, the largest holder gives way',
        {
          bind: this.key,
          maxUdpFlows: this.limits.maxUdpFlows,
          open: this.tools.flows.open,
          holder,
          holds,
          closed: longestIdle.length,
        },
      );
    for (const flow of longestIdle) flow.end('crowded');
  }

  private sweep(now: number): void {
    for (const flow of this.flows.values())
      if (now - flow.lastAt >= this.limits.udpIdleTimeoutMs) flow.end('idle');
    this.forgetMoved();
    if (this.quiet(now)) this.settle();
  }

  /** Clients whose backend, or whose address of it, is gone: their next datagram goes to another. */
  forgetMoved(): void {
    for (const flow of this.flows.values())
      if (!this.route.destinations.has(flow.destination) || !flow.destination.has(flow.backend))
        flow.end('moved');
  }

  private quiet(now: number): boolean {
    for (const { lastAt } of this.flows.values()) if (now - lastAt < QUIET_MS) return false;
    return true;
  }

  private failed(error: Error): void {
    if (!this.errorLog.take()) return;
    this.tools.log.error('Datagrams could not be forwarded', { bind: this.key, problem: error.message });
  }
}

const closed = (socket: Socket): Promise<void> => new Promise((resolve) => socket.close(() => resolve()));

const keyOf = ({ address, port }: { readonly address: string; readonly port: number }): string =>
  `${address} ${port}`;
