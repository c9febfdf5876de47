import { messageOf } from '../errorText.ts';
import { readRegularText } from '../files/index.ts';
import { joinEndpoints, type BackendAddress, type Model } from '../model/index.ts';
import type { Counter, Logger, Metrics } from '../telemetry/index.ts';
import { backoffMs, type BackoffOptions } from './backoff.ts';
import { pause, systemClock } from './clock.ts';
import { Cache, type CacheOptions } from './cache.ts';
import { openStream } from './connect.ts';
import { ModelAssembler, type ModelLimits, type ReceivedModel } from './modelAssembler.ts';
import { CacheWriter } from './cacheWriter.ts';
import { LineStream } from './lineStream.ts';
import { PartsBroken } from './parts.ts';
import {
  bounded,
  boundedFlaws,
  haveAtOnce,
  pathOf,
  readToProxy,
  written,
  type Flaws,
  type ToProxy,
} from './wire.ts';

export interface StreamSettings {
  /** `https://host:port`; when one does not answer, the next is asked. */
  readonly controllers: readonly URL[];
  /** `namespace/name` */
  readonly gateway: string;
  /** Read anew for each connection: it changes. */
  readonly tokenFile: string;
  /** Authorities that sign the certificates of controllers, in the PEM form; read anew for each connection. */
  readonly caFile: string;
  /** In those certificates, in place of the host of the URL. */
  readonly serverName?: string | undefined;
  /** The place where the last model is kept for a restart; none unless given. */
  readonly cache?: Omit<CacheOptions, 'gateway'> | undefined;
  readonly pace?: Partial<StreamPace>;
}

export interface StreamSourceOptions extends StreamSettings {
  /** Takes a model into use. @throws Error where that is not possible; the one before stays */
  readonly onModel: (model: Model) => Promise<void>;
  /** The same, where nothing but lists of addresses differs from the last one that was taken. */
  readonly onAddresses: (
    model: Model,
    changed: ReadonlyMap<string, readonly BackendAddress[]>,
  ) => Promise<void>;
  /** The parts of the model in use that the proxy cannot do. */
  readonly flaws?: () => Promise<Flaws>;
  readonly userAgent: string;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** All in milliseconds. */
export interface StreamPace {
  readonly backoff: BackoffOptions;
  /** For a controller to answer. */
  readonly connectMs: number;
  /** After a controller has said good-bye; up to that long, so that not all of its proxies come at once. */
  readonly partingMs: number;
  /** Until the first word is heard, which says how often there are signs of life. */
  readonly beatMs: number;
  readonly keepMs: number;
  /** After a refusal, or with a port closed: what was in the way (somebody who is just leaving) may be gone. */
  readonly retryMs: number;
}

const defaultPace: StreamPace = {
  backoff: { firstMs: 250, maxMs: 15_000 },
  connectMs: 10_000,
  partingMs: 1_000,
  beatMs: 10_000,
  keepMs: 1_000,
  retryMs: 30_000,
};

const limits: ModelLimits = { maxParts: 500_000, maxEndpointLists: 100_000 };

export interface StreamState {
  readonly gateway: string;
  /** A stream is open. */
  readonly connected: boolean;
  /** The present or last controller at its other end. */
  readonly controller: string | undefined;
  /** The version in use. */
  readonly version: string | undefined;
  /** Set if the model in use was read from the cache, and no controller has confirmed it since. */
  readonly cached: boolean;
}

/** The model of one Gateway as controllers have it, followed from the moment it is started until it is closed. */
export class StreamSource {
  private readonly options: StreamSourceOptions;
  private readonly pace: StreamPace;
  private readonly log: Logger;
  private readonly holding = new ModelAssembler(limits);
  private readonly cache: Cache | undefined;
  private readonly keeper: CacheWriter | undefined;
  private readonly ended = new AbortController();
  private readonly connects: Counter;
  private readonly updates: Counter;
  private readonly bytes: Counter;
  private running: Promise<void> = Promise.resolve();
  private taken: Pick<ReceivedModel, 'version' | 'root'> | undefined;
  /** The refusal of the last whole model, whatever became of it. */
  private refusal: readonly string[] = [];
  /** Ports of what is in use are closed, because they could not be bound. */
  private incomplete = false;
  private cached = false;
  private connected = false;
  private controller: string | undefined;
  /** The reason why there is no stream, or no model in it. */
  private trouble: string | undefined = 'no controller has been reached yet';
  private heardAt: number | undefined;
  /** Until what was refused is asked for once more. */
  private retry: NodeJS.Timeout | undefined;

  /** @throws Error where the cache would not be safe */
  constructor(options: StreamSourceOptions) {
    const { cache, gateway, metrics, log } = options;
    this.options = options;
    this.pace = { ...defaultPace, ...options.pace };
    this.log = log;
    this.cache = cache === undefined ? undefined : new Cache({ ...cache, gateway });
    this.keeper = this.cache && new CacheWriter(this.cache, log, this.pace.keepMs);
    this.connects = metrics.counter('stream_connects_total', 'Streams asked of controllers', ['result']);
    this.updates = metrics.counter('stream_updates_total', 'Models and changes of addresses received', [
      'what',
      'result',
    ]);
    this.bytes = metrics.counter('stream_received_bytes_total', 'Bytes received from controllers', []);
    this.expose(metrics);
  }

  get state(): StreamState {
    const { connected, controller, taken, cached } = this;
    return {
      gateway: this.options.gateway,
      connected,
      controller,
      version: taken?.version,
      cached,
    };
  }

  /** The reasons why the model in use may not be the newest, a line each; empty when it is. */
  get problems(): readonly string[] {
    return [...(this.trouble === undefined ? [] : [this.trouble]), ...this.refusal];
  }

  /** Takes what is kept from the last time, and begins to follow controllers. Never rejects. */
  async start(): Promise<void> {
    await this.restore();
    if (!this.ended.signal.aborted) this.running = this.follow();
  }

  /** Resolves (never rejects) when the stream is closed and the cache is written. */
  async close(): Promise<void> {
    this.ended.abort();
    await this.running;
    await this.keeper?.flush();
  }

  private async restore(): Promise<void> {
    const { log, cache } = this;
    if (cache === undefined) return;
    try {
      const kept = await cache.read();
      if (kept === undefined) return;
      const received = this.holding.restore(kept);
      const problems = await this.use(received);
      if (problems.length > 0) throw new Error(problems.join('; '));
      this.cached = true;
      log.info('Cached model loaded', { version: received.version });
    } catch (error) {
      // Damaged parts must not become a part of the next model.
      this.holding.clear();
      log.warn('Cached model ignored', { reason: messageOf(error) });
    }
  }

  /** Never rejects. */
  private async follow(): Promise<void> {
    const { signal } = this.ended;
    const { controllers } = this.options;
    let failures = 0;
    for (let turn = 0; !signal.aborted; turn++) {
      // A list of controllers is never empty: the command line sees to it.
      const controller = controllers[turn % controllers.length] as URL;
      const heard = { whole: false, bye: false };
      try {
        await this.once(controller, heard);
        this.trouble = 'the controller has ended the stream';
      } catch (error) {
        if (signal.aborted) break;
        this.trouble = `${controller.origin}: ${messageOf(error)}`;
        if (error instanceof PartsBroken) this.holding.clear();
        this.log.warn('Controller stream unavailable', {
          controller: controller.origin,
          reason: messageOf(error),
        });
      }
      this.connected = false;
      this.holding.cut();
      // A stream that brought nothing is a failure like one that was never opened.
      failures = heard.whole ? 1 : failures + 1;
      const ms = heard.bye
        ? Math.random() * this.pace.partingMs
        : backoffMs(failures, this.pace.backoff, Math.random);
      await pause(systemClock, ms, signal);
    }
    this.connected = false;
  }

  /** Runs a stream, from its beginning to its end. */
  private async once(controller: URL, heard: { whole: boolean; bye: boolean }): Promise<void> {
    const { gateway, tokenFile, caFile, serverName, userAgent } = this.options;
    const { signal } = this.ended;
    const [namespace = '', name = ''] = gateway.split('/');
    let stream;
    try {
      stream = await openStream({
        controller,
        path: pathOf(namespace, name),
        token: secretOf(tokenFile),
        ca: readRegularText(caFile),
        serverName,
        userAgent,
        timeoutMs: this.pace.connectMs,
        signal,
      });
    } catch (error) {
      if (!signal.aborted) this.connects.add({ result: 'failed' });
      throw error;
    }
    this.connects.add({ result: 'connected' });
    const lines = new LineStream(stream, this.pace.beatMs, (bytes) => {
      this.heardAt = Date.now();
      this.bytes.add({}, bytes);
    });
    try {
      // Both at once: what we have is a lot of text, and nobody waits for the other to finish.
      const said = this.sayWhatIsHere(lines).catch(() => undefined);
      for await (const line of lines.lines()) {
        const message = readToProxy(line);
        if (message.type === 'complete' || message.type === 'none') heard.whole = true;
        if (message.type === 'bye') {
          heard.bye = true;
          this.log.info('Redirected to another controller', { reason: message.reason });
          return;
        }
        await this.hear(message, lines);
      }
      await said;
    } finally {
      clearTimeout(this.retry);
      lines.destroy();
    }
  }

  private async sayWhatIsHere(lines: LineStream): Promise<void> {
    const { parts, endpoints } = this.holding.inventory;
    const most = Math.max(parts.length, endpoints.length);
    for (let at = 0; at < most; at += haveAtOnce)
      await lines.send(
        written({
          type: 'have',
          parts: parts.slice(at, at + haveAtOnce),
          endpoints: endpoints.slice(at, at + haveAtOnce),
        }),
      );
    await lines.send(written({ type: 'ready' }));
  }

  private async hear(message: ToProxy, lines: LineStream): Promise<void> {
    switch (message.type) {
      case 'welcome':
        lines.useBeat(message.beatMs);
        this.connected = true;
        this.controller = message.controller;
        this.trouble = 'the newest model is still on its way';
        this.log.info('Connected to a controller', { controller: message.controller });
        break;
      case 'part':
        this.holding.addPart(message.value);
        break;
      case 'endpoints':
        this.holding.addEndpoints(message.key, message.addresses);
        break;
      case 'gone':
        this.holding.dropEndpoints(message.key);
        break;
      case 'none':
        this.trouble = message.reason;
        this.log.warn('Controller has no model for this Gateway', { reason: message.reason });
        break;
      case 'complete': {
        const received = this.holding.complete(message.version, message.root);
        const { version } = received;
        const known = this.taken?.version;
        const problems = await this.use(received);
        this.trouble = undefined;
        const flaws = problems.length === 0 ? ((await this.options.flaws?.()) ?? noFlaws) : noFlaws;
        this.incomplete = flaws.closed.length > 0;
        clearTimeout(this.retry);
        // Another stream begins with the newest model, whether or not it was refused.
        if (problems.length > 0 || this.incomplete)
          this.retry = setTimeout(() => lines.end(), this.pace.retryMs).unref();
        if (problems.length === 0) {
          this.cached = false;
          if (version !== known) this.keeper?.keep(this.holding.keep(received));
        }
        await lines.send(
          written(
            problems.length === 0
              ? { type: 'taken', version, ...boundedFlaws(flaws) }
              : { type: 'refused', version, problems: bounded(problems) },
          ),
        );
        break;
      }
      case 'beat':
      case 'bye':
        break;
    }
  }

  /** @returns why it could not be taken; nothing where it was */
  private async use(received: ReceivedModel): Promise<readonly string[]> {
    const { version, root, model, endpoints, changed } = received;
    const { onModel, onAddresses } = this.options;
    // Lists are compared with the whole before: only where that is in use do they say everything.
    // A closed port has the whole model tried again.
    const sameModel = this.refusal.length === 0 && this.taken?.root === root && !this.incomplete;
    const what = sameModel ? 'addresses' : 'model';
    try {
      if (!sameModel) await onModel(joinEndpoints(model, endpoints));
      else if (changed.size > 0) await onAddresses(joinEndpoints(model, endpoints), changed);
    } catch (error) {
      this.updates.add({ what, result: 'refused' });
      this.refusal = messageOf(error).split('\n');
      return this.refusal;
    }
    this.refusal = [];
    // A version that is confirmed after another connection is not new.
    if (this.taken?.version === version) return [];
    this.updates.add({ what, result: 'taken' });
    this.taken = { version, root };
    return [];
  }

  private expose(metrics: Metrics): void {
    metrics.collect('stream_connected', '1 while a controller can be heard', 'gauge', [], () => [
      { labels: {}, value: this.connected ? 1 : 0 },
    ]);
    metrics.collect(
      'stream_model_info',
      'Always 1; the labels tell what is in use: its version, and whether it comes from the cache',
      'gauge',
      ['version', 'cached'],
      () =>
        this.taken === undefined
          ? []
          : [{ labels: { version: this.taken.version, cached: String(this.cached) }, value: 1 }],
    );
    metrics.collect(
      'stream_last_heard_timestamp_seconds',
      'When a controller was last heard, in seconds since the epoch',
      'gauge',
      [],
      () => (this.heardAt === undefined ? [] : [{ labels: {}, value: this.heardAt / 1_000 }]),
    );
  }
}

const noFlaws: Flaws = { broken: [], closed: [] };

function secretOf(file: string): string {
  const token = readRegularText(file).trim();
  if (token === '') throw new Error(`${file} is empty`);
  return token;
}
