/** Two gateways with one session key and one `redis-server`. */
import type { TestContext } from 'node:test';
import { RawClient, type Events, type Message } from '../../src/mcp/rawClient.testing.ts';
import { startRemote, type RemoteServer, type Incoming } from '../../src/mcp/remoteServer.testing.ts';
import { RedisServer } from '../../src/store/redisServer.testing.ts';
import { until } from '../../src/until.testing.ts';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import { authentication, inline, startIdp } from './stage.testing.ts';

export type Idp = Awaited<ReturnType<typeof startIdp>>;

export interface SharedStage {
  readonly idp: Idp;
  readonly redis: RedisServer;
  readonly server: RemoteServer;
  /** Starts a gateway with the key and the store of the others. */
  readonly start: () => Promise<GatewayProcess>;
  /** A client of a gateway with a token of this user. */
  readonly clientAt: (at: GatewayProcess, user: string, sessionId?: string) => Promise<RawClient>;
}

export interface SharedOptions {
  /** The targets; the server over HTTP of the stage unless given. */
  readonly targets?: (server: RemoteServer) => readonly object[];
  /** Joined to `config`. */
  readonly config?: object;
  /** The gateways have no store. */
  readonly storeless?: boolean;
  /** Arguments of the `redis-server`. */
  readonly redis?: readonly string[];
}

const key = '7c'.repeat(32);

export async function sharedStage(
  t: TestContext,
  { targets, config = {}, storeless = false, redis: args }: SharedOptions = {},
): Promise<SharedStage> {
  const idp = await startIdp();
  t.after(() => idp.close());
  const redis = await RedisServer.start(args);
  t.after(() => redis.close());
  const server = await startRemote(t);
  const yaml = inline({
    config: {
      session: { key },
      ...(storeless ? {} : { store: { redis: { url: `redis://127.0.0.1:${redis.port}` } } }),
      ...config,
    },
    binds: [
      {
        port: 0,
        listeners: [
          {
            routes: [
              {
                matches: [{ path: { pathPrefix: '/mcp' } }],
                policies: { mcpAuthentication: authentication(idp) },
                backends: [
                  { mcp: { targets: targets?.(server) ?? [{ name: 'far', mcp: { host: server.url } }] } },
                ],
              },
            ],
          },
        ],
      },
    ],
  });
  return {
    idp,
    redis,
    server,
    start: async () => {
      const gateway = await startGateway(yaml);
      t.after(() => gateway[Symbol.asyncDispose]());
      await gateway.keysReady();
      return gateway;
    },
    clientAt: async (at, user, sessionId) => {
      const client = new RawClient(new URL(`${at.url}/mcp`), {
        authorization: `Bearer ${await idp.issueToken({ user })}`,
      });
      client.sessionId = sessionId;
      return client;
    },
  };
}

/** Gives the server a tool that makes two steps at once; its call ends when `release` is called. */
export function addSteps(server: RemoteServer): {
  readonly calls: readonly Incoming[];
  readonly release: (text: string) => void;
} {
  const calls: Incoming[] = [];
  server.tools['steps'] = (x) => {
    calls.push(x);
    x.stream();
    const { progressToken } = x.seen.message.params!['_meta'] as { progressToken: number };
    for (const progress of [1, 2])
      x.event({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress } });
  };
  return {
    calls,
    release: (text) => {
      for (const x of calls) {
        x.event(x.result(text));
        x.end();
      }
    },
  };
}

/** Calls the tool; resolves when its two steps were read. */
export async function beginSteps(client: RawClient): Promise<Events> {
  const events = await client.stream(client.tool('steps', {}, { _meta: { progressToken: 'mine' } }));
  for (const progress of [1, 2])
    await until(`step ${progress}`, async () => (await events.next())?.params?.['progress'] === progress);
  return events;
}

/** The number of events that a gateway has written to the store. */
export const written = async (gateway: GatewayProcess): Promise<number> =>
  (await gateway.metric('portcullis_mcp_stored_events_total', { outcome: 'written' })) ?? 0;

export const lost = async (gateway: GatewayProcess): Promise<number> =>
  (await gateway.metric('portcullis_mcp_stored_events_total', { outcome: 'lost' })) ?? 0;

export const progressOf = (messages: readonly Message[]): unknown[] =>
  messages.flatMap(({ params }) => (params?.['progress'] === undefined ? [] : [params['progress']]));

/** Ends a gateway as `kill -9` does. */
export async function kill(gateway: GatewayProcess): Promise<void> {
  gateway.signal('SIGKILL');
  await gateway.ended;
}
