import type { Redis } from 'ioredis';
import { messageOf } from '../errorText.ts';
import type { StoreSettings } from '../model/index.ts';
import { readCredentials } from './credentials.ts';

/**
 * Opens one connection, which is not opened again when it has ended: the caller opens another one, with what the files
 * then hold. Nothing waits in a queue for a connection.
 * @throws Error without secrets; nothing is left open then
 */
export async function openRedis(settings: StoreSettings): Promise<Redis> {
  const { host, port, database, connectTimeoutMs, commandTimeoutMs } = settings;
  const { username, password, tls } = readCredentials(settings);
  // A gateway without a store does not load the client.
  const { Redis } = await import('./redisClient.ts');
  const redis = new Redis({
    host,
    port,
    db: database,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(tls === undefined ? {} : { tls }),
    connectTimeout: connectTimeoutMs,
    commandTimeout: commandTimeoutMs,
    connectionName: 'portcullis',
    // RESP2 is enough, and every server of the field speaks it.
    protocol: 2,
    lazyConnect: true,
    enableOfflineQueue: false,
    enableReadyCheck: false,
    disableClientInfo: true,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  let problem: Error | undefined;
  redis.on('error', (error: Error) => (problem ??= error));
  const timer = setTimeout(() => {
    problem ??= new Error(`no connection within ${connectTimeoutMs} ms`);
    redis.disconnect();
  }, connectTimeoutMs);
  try {
    await redis.connect();
    // A server that is loading its data, or wants a password, says so now.
    await redis.ping();
    return redis;
  } catch (error) {
    redis.disconnect();
    // The first error has the cause; those that follow tell of the end of the connection.
    throw new Error(messageOf(problem ?? error), { cause: error });
  } finally {
    clearTimeout(timer);
  }
}
