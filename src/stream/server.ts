import {
  createSecureServer,
  constants,
  type Http2SecureServer,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type IncomingHttpHeaders,
} from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import type { AddressLists, Model } from '../model/index.ts';
import type { Logger, Metrics } from '../telemetry/index.ts';
import { addressOf, Admission, type AdmissionLimits, type SocketAddresses } from './admission.ts';
import { modelVersionOf, withAddresses, type ModelVersion } from './modelVersion.ts';
import { LineStream } from './lineStream.ts';
import { nameOfText } from './parts.ts';
import { ProxyStream, type Answer } from './proxyStream.ts';
import { serverMetrics, type ServerMetrics } from './serverMetrics.ts';
import { ReportedProblems, type ReportedProblem } from './reportedProblems.ts';
import { gatewayOfPath, maxKeyLength, maxLineBytes, written, type Flaws } from './wire.ts';

/** The proven identity of the caller. */
export interface Caller {
  /** For people: `system:serviceaccount:namespace:name`. */
  readonly subject: string;
  /** The pod it runs in; a later stream of the same one takes the place of an earlier one. */
  readonly pod: string | undefined;
  /** `Date.now()` when its proof runs out. */
  readonly expiresAt: number | undefined;
}

/** The identity of the caller cannot be checked at present. */
export class Unavailable extends Error {
  override readonly name = 'Unavailable';
}

export interface StreamServerOptions<Who extends Caller> {
  readonly host: string;
  /** 0 asks the system for any free port. */
  readonly port: number;
  /** Names this process, for people. */
  readonly controller: string;
  /** In the PEM form; until there is one (`useCertificate`) nobody can connect. */
  readonly certificate?: Certificate;
  /**
   * Undefined where the token is not good. @throws Unavailable where that is not known
   * @param address that it came from
   */
  readonly authenticate: (token: string, address: string) => Promise<Who | undefined>;
  /** @param gateway `namespace/name` */
  readonly mayRead: (caller: Who, gateway: string) => boolean;
  /** `troubles` says something else now. */
  readonly onTroubles?: () => void;
  /** Whether proxies in trouble ought to tell another controller: the one that writes it down. */
  readonly wantsTroublesElsewhere?: () => boolean;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly pace?: Partial<ServerPace>;
  /** Tests have smaller ones. */
  readonly limits?: Partial<AdmissionLimits>;
}

export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** All in milliseconds. */
export interface ServerPace {
  readonly beatMs: number;
  /** For a proxy to say what it has, and to take something into use. */
  readonly answerMs: number;
  /** For a connection to become the stream of a proxy; signs of life do not make it longer. */
  readonly helloMs: number;
  /** Until a proxy in trouble is sent on, where it ought to tell another controller. */
  readonly sendOnMs: number;
}

const defaultPace: ServerPace = { beatMs: 10_000, answerMs: 120_000, helloMs: 5_000, sendOnMs: 3_000 };

/** The known facts about a connected proxy. */
export interface ProxyView extends Flaws {
  readonly gateway: string;
  /** Its pod, or who it is. */
  readonly proxy: string;
  /** The version that it has taken into use last, as far as it told this controller. */
  readonly version: string | undefined;
  /** Whether that is the newest. */
  readonly current: boolean;
  /** The reasons why it rejected the last model. */
  readonly problems: readonly string[];
}

export interface GatewayModels {
  readonly model: Model;
  /** Keys of the lists of addresses that it names. */
  readonly endpoints: ReadonlySet<string>;
}

const maxConnections = 10_000;
const maxStreams = 5_000;
const maxTokenBytes = 16_384;
/** Behind one address there may be a node with all of its proxies. */
const usualLimits: AdmissionLimits = { perAddress: 512, waitingPerAddress: 64, waiting: 512 };

/** The model and addresses for the proxies of a Gateway. */
interface Published {
  readonly streams: Set<Connected>;
  edition: ModelVersion | undefined;
  /** The model of the edition, and a hash of its text: a translation of everything makes most of them as they were. */
  model: Model | undefined;
  mark: string;
  reason: string;
}

interface Connected {
  readonly gateway: string;
  readonly proxy: string;
  readonly stream: ProxyStream;
  readonly lines: LineStream;
  answer: Answer | undefined;
  /** The last answer that was `taken`. */
  version: string | undefined;
  /** While it is in trouble: looks whether another controller ought to hear of it. */
  sendOn: NodeJS.Timeout | undefined;
}

/** Sends models to proxies: to each the one of its own Gateway, and after that what changes of it. */
export class StreamServer<Who extends Caller = Caller> {
  private readonly options: StreamServerOptions<Who>;
  private readonly pace: ServerPace;
  private readonly server: Http2SecureServer;
  private readonly sessions = new Set<ServerHttp2Session>();
  private readonly admission: Admission;
  private readonly gateways = new Map<string, Published>();
  private readonly metrics: ServerMetrics;
  private readonly troublesNoted: ReportedProblems;
  private models: ReadonlyMap<string, GatewayModels> | undefined;
  private table: AddressLists = new Map();
  private connected = 0;
  private closing = false;

  private constructor(options: StreamServerOptions<Who>) {
    this.options = options;
    this.pace = { ...defaultPace, ...options.pace };
    this.metrics = serverMetrics(options.metrics, () => this.proxies);
    this.troublesNoted = new ReportedProblems({ onChange: () => options.onTroubles?.() });
    this.server = createSecureServer({
      ...options.certificate,
      minVersion: 'TLSv1.3',
      handshakeTimeout: this.pace.helloMs,
      // A proxy needs one; another one may be ending.
      settings: { maxConcurrentStreams: 4, maxHeaderListSize: 2 * maxTokenBytes },
      maxSessionMemory: 32,
    });
    this.server.maxConnections = maxConnections;
    this.admission = new Admission({
      limits: { ...usualLimits, ...options.limits },
      waitMs: this.pace.helloMs,
      onEnd: (why) => this.metrics.refused(why),
    });
    this.server.on('connection', (socket: Socket) => this.admission.take(socket));
    this.server.on('session', (session) => this.greet(session));
    this.server.on('stream', (stream, headers) => void this.serve(stream as ServerHttp2Stream, headers));
    // An error of a single connection, caused by its client.
    this.server.on('sessionError', () => undefined);
    this.server.on('tlsClientError', () => this.metrics.refused('tls'));
  }

  /** @throws Error when the port cannot be bound, or the certificate cannot be used */
  static async listen<Who extends Caller>(options: StreamServerOptions<Who>): Promise<StreamServer<Who>> {
    const self = new StreamServer(options);
    await new Promise<void>((resolve, reject) => {
      self.server.once('error', reject);
      self.server.listen({ host: options.host, port: options.port }, () => {
        self.server.off('error', reject);
        resolve();
      });
    });
    self.server.on('error', (error) =>
      options.log.error('Port for proxies failed', { reason: error.message }),
    );
    return self;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get proxies(): readonly ProxyView[] {
    return [...this.gateways.values()].flatMap(({ streams, edition }) =>
      Array.from(streams, ({ gateway, proxy, answer, version }) => ({
        gateway,
        proxy,
        version,
        current: edition !== undefined && answer?.result === 'taken' && answer.version === edition.version,
        problems: answer?.result === 'refused' ? answer.problems : [],
        broken: answer?.result === 'taken' ? answer.broken : [],
        closed: answer?.result === 'taken' ? answer.closed : [],
      })),
    );
  }

  /** By `namespace/name` of the Gateway; where there are none, all is well as far as it was told here. */
  get troubles(): ReadonlyMap<string, readonly ReportedProblem[]> {
    return this.troublesNoted.ofGateways;
  }

  /** Shown to whoever connects from now on. @throws Error where it cannot be used; the one before stays then */
  useCertificate({ cert, key }: Certificate): void {
    this.server.setSecureContext({ cert, key, minVersion: 'TLSv1.3' });
  }

  /** Everything, by `namespace/name` of the Gateways. Until the first time, proxies are asked to come again. */
  publish(models: ReadonlyMap<string, GatewayModels>, table: AddressLists): void {
    this.models = models;
    this.table = table;
    for (const [gateway, published] of this.gateways) {
      this.edit(gateway, published);
      this.send(published);
    }
  }

  /** Only addresses have changed. */
  publishAddresses(table: AddressLists): void {
    this.table = table;
    for (const [gateway, published] of this.gateways) {
      const { edition } = published;
      if (edition === undefined) continue;
      this.use(published, withAddresses(edition, edition.endpoints.keys(), table), gateway);
      this.send(published);
    }
  }

  /** Sends every proxy to another controller, and resolves when all have left or after a time. */
  async close(graceMs = 5_000): Promise<void> {
    this.closing = true;
    this.troublesNoted.close();
    const closed = new Promise<void>((resolve) => void this.server.close(() => resolve()));
    for (const { streams } of this.gateways.values())
      for (const { lines } of streams) lines.end(written({ type: 'bye', reason: 'this controller ends' }));
    for (const session of this.sessions) session.close();
    const late = setTimeout(() => {
      for (const session of this.sessions) session.destroy();
    }, graceMs);
    await closed;
    clearTimeout(late);
    this.admission.close();
  }

  private greet(session: ServerHttp2Session): void {
    this.sessions.add(session);
    session.once('close', () => this.sessions.delete(session));
    session.on('error', () => undefined);
    // Beats keep a stream's connection alive.
    session.setTimeout(4 * this.pace.beatMs, () => session.destroy());
  }

  /** Never rejects. */
  private async serve(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> {
    stream.on('error', () => undefined);
    try {
      const refusal = await this.admit(stream, headers);
      if (refusal === undefined || stream.destroyed) return;
      this.metrics.refused(refusal.result);
      stream.respond({ ':status': refusal.status, 'content-type': 'text/plain' });
      stream.end(`${refusal.reason}\n`);
      // Further input of the client is not wanted.
      stream.close(constants.NGHTTP2_NO_ERROR);
    } catch (error) {
      this.options.log.error('Proxy stream failed', { reason: String(error) });
      stream.destroy();
    }
  }

  private async admit(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
  ): Promise<{ readonly status: number; readonly result: string; readonly reason: string } | undefined> {
    const { authenticate, mayRead, log } = this.options;
    const gateway = gatewayOfPath(headers[':path'] ?? '');
    if (gateway === undefined) return { status: 404, result: 'path', reason: 'there is nothing here' };
    if (headers[':method'] !== 'POST') return { status: 405, result: 'path', reason: 'only POST' };
    const [, token] = /^Bearer ([\w.~+/=-]+)$/i.exec(headers.authorization ?? '') ?? [];
    if (token === undefined || token.length > maxTokenBytes)
      return { status: 401, result: 'unauthenticated', reason: 'a bearer token is needed' };
    if (this.closing || this.models === undefined || this.connected >= maxStreams)
      return { status: 503, result: 'unavailable', reason: 'not now' };
    const ends = endsOf(stream);
    let caller: Who | undefined;
    this.admission.asks(ends);
    try {
      caller = await authenticate(token, addressOf(ends));
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      log.warn('Proxy could not be authenticated', { gateway, reason: error.message });
      return { status: 503, result: 'unavailable', reason: 'tokens cannot be checked at present' };
    } finally {
      this.admission.answered(ends);
    }
    if (caller === undefined)
      return { status: 401, result: 'unauthenticated', reason: 'the token is not good' };
    if (!mayRead(caller, gateway)) {
      log.warn('Proxy denied the model of another Gateway', {
        gateway,
        subject: caller.subject,
      });
      return { status: 403, result: 'forbidden', reason: 'this Gateway is not yours' };
    }
    if (this.closing) return { status: 503, result: 'unavailable', reason: 'not now' };
    if (!stream.destroyed) {
      this.admission.admit(ends);
      void this.connect(stream, gateway, caller).finally(() => this.admission.leave(ends));
    }
    return undefined;
  }

  /** Never rejects. */
  private async connect(stream: ServerHttp2Stream, gateway: string, caller: Who): Promise<void> {
    const { log, controller } = this.options;
    const { beatMs, answerMs } = this.pace;
    const proxy = caller.pod ?? caller.subject;
    const published = this.publishedOf(gateway);
    // It has come back while we did not know yet that it was gone.
    if (caller.pod !== undefined)
      for (const other of published.streams)
        if (other.proxy === proxy) other.lines.destroy('the proxy has come again');
    stream.respond({ ':status': 200, 'content-type': 'application/x-ndjson' });
    const lines = new LineStream(stream, beatMs);
    const connected: Connected = {
      gateway,
      proxy,
      lines,
      answer: undefined,
      version: undefined,
      sendOn: undefined,
      stream: new ProxyStream({
        lines,
        answerMs,
        onAnswer: (answer) => this.answered(connected, answer),
        onSent: (count, bytes) => this.metrics.sent(count, bytes),
      }),
    };
    published.streams.add(connected);
    this.connected++;
    this.metrics.accepted();
    const expiry = this.endAt(caller.expiresAt, lines);
    log.info('Proxy connected', { gateway, proxy });
    const heard = connected.stream.hear();
    lines
      .send(written({ type: 'welcome', controller, beatMs }))
      .then(() => connected.stream.publish(published.edition, published.reason))
      .catch(() => undefined);
    const reason = await heard;
    clearTimeout(expiry);
    clearInterval(connected.sendOn);
    if (!this.closing) this.troublesNoted.left(gateway, proxy);
    published.streams.delete(connected);
    if (published.streams.size === 0 && this.gateways.get(gateway) === published)
      this.gateways.delete(gateway);
    this.connected--;
    log.info('Proxy disconnected', { gateway, proxy, reason });
  }

  /** A stream lives no longer than the proof of who it belongs to; another one begins with a newer proof. */
  private endAt(expiresAt: number | undefined, lines: LineStream): NodeJS.Timeout | undefined {
    if (expiresAt === undefined) return undefined;
    // Timers take 31 bits.
    const ms = Math.min(Math.max(expiresAt - Date.now(), 0), 2 ** 31 - 1);
    return setTimeout(() => lines.end(written({ type: 'bye', reason: 'the token has expired' })), ms).unref();
  }

  private answered(connected: Connected, answer: Answer): void {
    const { gateway, proxy } = connected;
    connected.answer = answer;
    clearInterval(connected.sendOn);
    if (this.troublesNoted.note(gateway, proxy, answer)) this.sendOnLater(connected);
    this.metrics.answered(answer.result);
    if (answer.result === 'taken') connected.version = answer.version;
    else
      this.options.log.error('Model rejected by a proxy', {
        gateway,
        proxy,
        version: answer.version,
        problem: answer.problems.join('; '),
      });
  }

  /** Every controller would hear the same of the proxy; only one of them writes it down. */
  private sendOnLater(connected: Connected): void {
    connected.sendOn = setInterval(() => {
      if (this.options.wantsTroublesElsewhere?.() !== true) return;
      connected.lines.end(written({ type: 'bye', reason: 'another controller writes the status' }));
    }, this.pace.sendOnMs).unref();
  }

  /** Models are made ready only where somebody takes them. */
  private publishedOf(gateway: string): Published {
    let published = this.gateways.get(gateway);
    if (published === undefined) {
      published = { streams: new Set(), edition: undefined, model: undefined, mark: '', reason: '' };
      this.gateways.set(gateway, published);
      this.edit(gateway, published);
    }
    return published;
  }

  private edit(gateway: string, published: Published): void {
    const wanted = this.models?.get(gateway);
    if (wanted === undefined) {
      published.edition = undefined;
      published.reason = 'this Gateway is not there, or is not accepted';
      return;
    }
    const { model, endpoints } = wanted;
    const { edition, mark: before } = published;
    if (published.model !== model) published.mark = nameOfText(JSON.stringify(model));
    published.model = model;
    const next =
      edition !== undefined && published.mark === before
        ? withAddresses(edition, endpoints, this.table)
        : modelVersionOf(model, endpoints, this.table);
    this.use(published, next, gateway);
  }

  /** A model that no line can carry is not sent at all: proxies keep what they have, and say why. */
  private use(published: Published, edition: ModelVersion, gateway: string): void {
    if (edition === published.edition || longestLine(edition) <= maxLineBytes) {
      published.edition = edition;
      return;
    }
    published.edition = undefined;
    published.reason = `a part of the model is larger than ${String(maxLineBytes)} bytes`;
    this.options.log.error('Model could not be sent', { gateway, reason: published.reason });
  }

  private send({ streams, edition, reason }: Published): void {
    for (const { stream } of streams) stream.publish(edition, reason);
  }
}

/** The socket of its connection, as long as there is one: a session that has ended has no socket any more. */
function endsOf({ session }: ServerHttp2Stream): SocketAddresses {
  if (session === undefined || session.destroyed) return {};
  const { remoteAddress, remotePort, localAddress, localPort } = session.socket;
  return { remoteAddress, remotePort, localAddress, localPort };
}

/** In bytes, what stands around the text included. */
function longestLine({ parts, endpoints }: ModelVersion): number {
  let longest = 0;
  for (const text of parts.texts.values()) longest = Math.max(longest, Buffer.byteLength(text));
  for (const { text } of endpoints.values()) longest = Math.max(longest, Buffer.byteLength(text));
  return longest + 2 * maxKeyLength;
}
