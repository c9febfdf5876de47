import type { Redis } from 'ioredis';
import { messageOf } from '../errorText.ts';
import type { StoreSettings } from '../model/index.ts';
import type { Counter, Logger, Metrics } from '../telemetry/index.ts';
import type { PemFiles } from '../upstream/index.ts';
import { credentialFiles } from './credentials.ts';
import { openRedis } from './openRedis.ts';
import { Subscriber } from './subscriber.ts';
import { StoreError, type Reply, type Script, type Store } from './store.ts';

export interface RedisStoreOptions {
  readonly settings: StoreSettings;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** Between two attempts to connect: at first, and at most. Milliseconds. */
const firstRetryMs = 100;
const longestRetryMs = 5_000;
/** Between two looks at the files of the settings. */
const lookMs = 1_000;
/** Scripts that wait for their answers: beyond them the store is too slow to be asked. */
const mostPending = 10_000;

/**
 * Errors that end the connection: this server cannot serve now, and the next connection may lead to one that can.
 * (Redis, "RESP protocol", simple errors; a replica that was the primary says READONLY.)
 */
const fatal = /^(?:READONLY|LOADING|MASTERDOWN|NOAUTH|WRONGPASS|NOREPLICAS|CLUSTERDOWN|MOVED)\b/;

type Outcome = 'ok' | 'error' | 'timeout' | 'unavailable';

/**
 * A server of Redis or Valkey. While there is no connection every script fails at once, so that requests never wait
 * for a server that is down. A script without an answer in time ends the connection, too: the scripts after it do not
 * wait for the same server.
 */
export class RedisStore implements Store {
  private readonly settings: StoreSettings;
  private readonly log: Logger;
  private readonly commands: Counter;
  private readonly subscriber: Subscriber;
  private readonly firstTry: Promise<void>;
  private readonly looking: NodeJS.Timeout;
  private files: PemFiles;
  private redis: Redis | undefined;
  private connections = 0;
  /** The digests of the scripts that were sent on this connection: the server has their texts. */
  private sent = new Set<string>();
  private pending = 0;
  private retryMs = firstRetryMs;
  private retry: NodeJS.Timeout | undefined;
  private closed = false;
  /** The reason in the newest line of the log about a store that is down. */
  private said: string | undefined;

  constructor({ settings, log, metrics }: RedisStoreOptions) {
    this.settings = settings;
    this.log = log.child({ store: `${settings.host}:${settings.port}` });
    this.commands = metrics.counter(
      'store_commands_total',
      'Commands for the shared store, by the part of the gateway that needs them and by their result.',
      ['use', 'outcome'],
    );
    metrics.collect(
      'store_connected',
      'Whether the process is connected to the shared store (1) or not (0); the least of all workers.',
      'gauge',
      [],
      () => [{ labels: {}, value: this.redis === undefined ? 0 : 1 }],
      'min',
    );
    this.subscriber = new Subscriber(settings, this.log);
    this.files = credentialFiles(settings);
    this.firstTry = this.connect();
    this.looking = setInterval(() => void this.look(), lookMs).unref();
  }

  get connection(): number {
    return this.redis === undefined ? 0 : this.connections;
  }

  get subscriptions(): number {
    return this.subscriber.subscriptions;
  }

  tried(): Promise<void> {
    return this.firstTry;
  }

  async run(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<Reply> {
    const { redis } = this;
    if (redis === undefined || this.pending >= mostPending) {
      this.count(script, 'unavailable');
      throw new StoreError(redis === undefined ? 'not connected to the store' : 'the store is behind');
    }
    this.pending++;
    try {
      const names = keys.map((key) => this.settings.keyPrefix + key);
      const reply = await this.evaluate(redis, script, names, args);
      this.count(script, 'ok');
      return reply as Reply;
    } catch (error) {
      throw this.failed(redis, script, messageOf(error));
    } finally {
      this.pending--;
    }
  }

  subscribe(channel: string, listener: (text: string) => void): void {
    this.subscriber.add(channel, listener);
  }

  close(): void {
    this.closed = true;
    this.subscriber.close();
    clearTimeout(this.retry);
    clearInterval(this.looking);
    this.redis?.disconnect();
    this.redis = undefined;
  }

  private async evaluate(
    redis: Redis,
    { digest, lua }: Script,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<unknown> {
    if (this.sent.has(digest))
      try {
        return await redis.evalsha(digest, keys.length, ...keys, ...args);
      } catch (error) {
        // The server has dropped its scripts.
        if (!messageOf(error).startsWith('NOSCRIPT')) throw error;
      }
    this.sent.add(digest);
    return await redis.eval(lua, keys.length, ...keys, ...args);
  }

  private failed(redis: Redis, script: Script, reason: string): StoreError {
    const late = reason === 'Command timed out';
    this.count(script, late ? 'timeout' : 'error');
    const told = late ? `no answer within ${this.settings.commandTimeoutMs} ms` : reason;
    if (late || fatal.test(reason)) this.lost(redis, told);
    return new StoreError(told);
  }

  /** Connects, in the place of a connection that may be in use. Never rejects. */
  private async connect(): Promise<void> {
    let redis: Redis;
    try {
      redis = await openRedis(this.settings);
    } catch (error) {
      this.failedToConnect(messageOf(error));
      return;
    }
    if (this.closed) {
      redis.disconnect();
      return;
    }
    const before = this.redis;
    this.redis = redis;
    this.connections++;
    this.sent = new Set();
    this.retryMs = firstRetryMs;
    redis.once('close', () => this.lost(redis, 'the connection ended'));
    before?.disconnect();
    this.subscriber.connect();
    this.log.info(this.said === undefined ? 'Connected to the store' : 'Connected to the store again');
    this.said = undefined;
  }

  private failedToConnect(reason: string): void {
    if (this.closed) return;
    // With changed files that cannot be used, the connection of before goes on.
    if (this.redis !== undefined)
      this.log.error('Changed files of the store rejected; the connection stays', { reason });
    else {
      this.say(reason);
      this.connectLater();
    }
  }

  private lost(redis: Redis, reason: string): void {
    if (this.redis !== redis || this.closed) return;
    this.redis = undefined;
    redis.disconnect();
    this.subscriber.disconnect();
    this.say(reason);
    this.connectLater();
  }

  /** Logs each reason once, however often the gateway tries. */
  private say(reason: string): void {
    if (this.said === reason) return;
    this.said = reason;
    this.log.error('Store unavailable', { reason });
  }

  private connectLater(): void {
    clearTimeout(this.retry);
    // Replicas that lost the same server must not come back in step.
    const wait = this.retryMs * (0.5 + Math.random() / 2);
    this.retry = setTimeout(() => void this.connect(), wait).unref();
    this.retryMs = Math.min(2 * this.retryMs, longestRetryMs);
  }

  private async look(): Promise<void> {
    if (!(await this.files.changed()) || this.closed) return;
    this.files = credentialFiles(this.settings);
    clearTimeout(this.retry);
    await this.connect();
  }

  private count(script: Script, outcome: Outcome): void {
    this.commands.add({ use: script.use, outcome });
  }
}
