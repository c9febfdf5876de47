/**
 * A worker process: serves what the main process tells it to, on sockets that the main process has bound. It is
 * started by `workerProcess.ts`, never by hand.
 */
import type { Prepared, SocketHandle } from '../proxy/index.ts';
import { createLogger, createMetrics, type RootLogger } from '../telemetry/index.ts';
import { within } from '../within.ts';
import { Link } from './link.ts';
import { IncomingModel } from './modelTransfer.ts';
import type { Start, ToMain, ToWorker } from './workerMessages.ts';
import { leaveFolder } from './privateFolder.ts';
import { RecordBatch } from './recordBatch.ts';
import { ServingProcess } from './servingProcess.ts';
import { SharedTokens } from './tokens/sharedTokens.ts';

/** The time for MCP servers to leave by themselves when the main process is gone. */
const childGraceMs = 2_000;

class Worker {
  private readonly metrics = createMetrics();
  private readonly records = new RecordBatch(
    (records) => void this.link.ask('records', records).catch(() => undefined),
  );
  private readonly link: Link<ToMain, ToWorker>;
  private log: RootLogger | undefined;
  private serving: ServingProcess | undefined;
  private tokens: SharedTokens | undefined;
  private relayPath: string | undefined;
  private deadlineMs = 0;
  private prepared: Prepared | undefined;
  private readonly arriving = new IncomingModel();
  /** Sockets that no port has taken yet, by the key of their bind. */
  private readonly sockets = new Map<string, SocketHandle[]>();
  /** The lent sockets of other workers, by their number. */
  private readonly lent = new Map<number, { readonly key: string; readonly socket: SocketHandle }[]>();
  private ending = false;

  constructor() {
    this.link = new Link<ToMain, ToWorker>(process, {
      socket: ({ key }, socket) => {
        if (socket !== undefined) this.sockets.set(key, [...(this.sockets.get(key) ?? []), socket]);
      },
      routes: (portion) => this.arriving.add(portion),
      start: (start) => this.start(start),
      secrets: (secrets) => this.serving?.keepSecret(secrets),
      prepare: async (frame) => {
        this.prepared = await this.served.prepare(this.arriving.whole(frame));
      },
      commit: () => this.commit(),
      abort: () => this.abort(),
      addresses: (lists) => this.served.dataPlane.useAddresses(lists),
      lend: ({ key, of }, socket) => this.lend(key, of, socket),
      takeBack: ({ of }) => this.takeBack(of),
      ticketSecret: (secret) => this.served.dataPlane.useTicketSecret(Buffer.from(secret)),
      // Peers announced before the start are part of the start.
      peers: (peers) => this.serving?.dataPlane.relays?.usePeers(peers),
      logLevel: (level) => this.log?.setLevel(level),
      watch: (watched) => this.serving?.dataPlane.watchRequests(watched),
      why: (request) => this.served.why(request),
      evaluate: (trial) => this.served.evaluate(trial),
      entrance: (request) => this.served.entrance(request),
      endSession: (label) => this.served.endSession(label),
      auditLines: () => this.served.auditLines(),
      view: () => this.served.look(),
      metrics: () => this.metrics.snapshot(),
      beat: () => undefined,
      drain: ({ patienceMs, followed }) => this.served.drain(patienceMs, followed),
      end: ({ graceMs }) => this.end(graceMs),
    });
    process.on('disconnect', () => void this.orphaned());
    // A terminal, or a service manager, sends these to every process of the gateway. The main process has got it, too,
    // and says what is to be done.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'] as const)
      process.on(signal, () => undefined);
  }

  private get served(): ServingProcess {
    if (this.serving === undefined) throw new Error('not started');
    return this.serving;
  }

  private async start(start: Start): Promise<void> {
    const { worker } = start;
    const model = this.arriving.whole(start.model);
    const { fixed } = model.process;
    process.title = `portcullis: worker ${worker}`;
    const log = createLogger({ level: start.logLevel, format: fixed.logFormat });
    this.log = log;
    this.deadlineMs = fixed.terminationDeadlineMs;
    this.relayPath = start.relayPath;
    this.tokens = new SharedTokens({
      where: () => this.link.ask('counter', undefined),
      secret: start.innerSecret,
      log,
    });
    const serving = new ServingProcess({
      log,
      metrics: this.metrics,
      fixed,
      madeKey: start.madeKey,
      secrets: start.secrets,
      owner: start.owner,
      worker,
      relieves: start.relieves,
      tokens: this.tokens,
      onRecord: (json) => this.records.add(json),
      relay: { secret: start.innerSecret, path: start.relayPath },
      onGroup: (leader, alive) => void this.link.ask('group', { leader, alive }).catch(() => undefined),
      socketsFor: (key) => this.claim(key),
    });
    this.serving = serving;
    serving.dataPlane.watchRequests(start.watched);
    serving.dataPlane.useTicketSecret(Buffer.from(start.ticketSecret));
    // At once: whatever is said of them later is newer.
    serving.dataPlane.relays?.usePeers(start.peers);
    await serving.dataPlane.relays?.listen();
    await serving.apply(model);
  }

  private claim(key: string): SocketHandle[] {
    const sockets = this.sockets.get(key);
    this.sockets.delete(key);
    return sockets ?? [];
  }

  private async commit(): Promise<void> {
    await this.prepared?.commit();
    this.prepared = undefined;
  }

  private abort(): void {
    this.arriving.forget();
    this.prepared?.abort();
    this.prepared = undefined;
    for (const sockets of this.sockets.values()) for (const socket of sockets) socket.close();
    this.sockets.clear();
  }

  private async lend(key: string, of: number, socket: SocketHandle | undefined): Promise<void> {
    if (socket === undefined) return;
    await this.served.dataPlane.takeSocket(key, socket);
    this.lent.set(of, [...(this.lent.get(of) ?? []), { key, socket }]);
  }

  private takeBack(of: number): void {
    for (const { key, socket } of this.lent.get(of) ?? []) this.served.dataPlane.releaseSocket(key, socket);
    this.lent.delete(of);
  }

  private async end(graceMs: number): Promise<void> {
    if (this.ending) return;
    this.ending = true;
    await this.serving?.close(graceMs);
    this.records.flush();
    this.tokens?.close();
    this.log?.close();
    // In good order the main process tidies up.
    if (!process.connected && this.relayPath !== undefined) leaveFolder(this.relayPath);
    process.exit(0);
  }

  /** The main process is gone, so nobody will ever say what to do: what runs may finish, within its deadline. */
  private async orphaned(): Promise<void> {
    if (this.ending) return;
    this.log?.warn('Main process lost; worker exits');
    const { serving } = this;
    if (serving !== undefined) await within(this.deadlineMs, serving.drain());
    await this.end(childGraceMs);
  }
}

new Worker();
