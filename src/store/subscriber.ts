import type { Redis } from 'ioredis';
import { messageOf } from '../errorText.ts';
import type { StoreSettings } from '../model/index.ts';
import type { Logger } from '../telemetry/index.ts';
import { openRedis } from './openRedis.ts';

/** Between the end of the connection and the next attempt, in milliseconds. */
const retryMs = 1_000;
/** Between two pings: a connection that only listens does not notice that its server is gone. */
const pingMs = 5_000;

/** The second connection to the store, which only listens (Redis, "Pub/Sub"): the first one cannot do both. */
export class Subscriber {
  /** Connections so far that have heard messages. */
  subscriptions = 0;
  private readonly settings: StoreSettings;
  private readonly log: Logger;
  private readonly listeners = new Map<string, (text: string) => void>();
  private redis: Redis | undefined;
  private opening = false;
  private wanted = false;
  private retry: NodeJS.Timeout | undefined;
  private readonly pinging: NodeJS.Timeout;
  /** The reason in the newest line of the log. */
  private said: string | undefined;

  constructor(settings: StoreSettings, log: Logger) {
    this.settings = settings;
    this.log = log;
    this.pinging = setInterval(() => void this.ping(), pingMs).unref();
  }

  /** @param channel without the prefix of the store */
  add(channel: string, listener: (text: string) => void): void {
    this.listeners.set(this.settings.keyPrefix + channel, listener);
    if (this.wanted) this.connect();
  }

  /** The store can be reached: listens from now on. */
  connect(): void {
    this.wanted = true;
    if (this.opening || this.listeners.size === 0) return;
    clearTimeout(this.retry);
    this.opening = true;
    void this.open().finally(() => {
      this.opening = false;
      if (!this.wanted) this.disconnect();
    });
  }

  disconnect(): void {
    this.wanted = false;
    clearTimeout(this.retry);
    const { redis } = this;
    this.redis = undefined;
    redis?.disconnect();
  }

  close(): void {
    clearInterval(this.pinging);
    this.listeners.clear();
    this.disconnect();
  }

  /** Never rejects. */
  private async open(): Promise<void> {
    try {
      const redis = await openRedis(this.settings);
      const before = this.redis;
      this.redis = redis;
      before?.disconnect();
      redis.once('close', () => {
        if (this.redis === redis) this.fail('the connection ended');
      });
      redis.on('message', (channel: string, text: string) => this.listeners.get(channel)?.(text));
      await redis.subscribe(...this.listeners.keys());
      this.subscriptions++;
      this.said = undefined;
    } catch (error) {
      this.fail(messageOf(error));
    }
  }

  private async ping(): Promise<void> {
    const { redis } = this;
    try {
      await redis?.ping();
    } catch {
      if (this.redis === redis) this.fail('no answer');
    }
  }

  private fail(reason: string): void {
    const { redis } = this;
    this.redis = undefined;
    redis?.disconnect();
    if (!this.wanted) return;
    if (this.said !== reason) this.log.error('Messages of other gateways cannot be heard', { reason });
    this.said = reason;
    clearTimeout(this.retry);
    this.retry = setTimeout(() => this.connect(), retryMs).unref();
  }
}
