/**
 * A rate limit service for examples/policies/remoteRateLimit.yaml: each descriptor may have three hits a minute. Start it
 * with: node examples/policies/rateLimitService/service.ts 8081
 */
import { fileURLToPath } from 'node:url';
import grpc from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

/** A question of a gateway, as `rls.proto` has it. */
export interface Question {
  readonly domain: string;
  readonly descriptors: readonly {
    readonly entries: readonly { readonly key: string; readonly value: string }[];
    readonly limit?: { readonly requests_per_unit: number; readonly unit: string } | null;
    readonly hits_addend?: { readonly value?: number } | null;
  }[];
}

/** A `RateLimitResponse`. */
export type Answer = object;

export interface RateLimitService {
  readonly port: number;
  close(): void;
}

interface Methods extends grpc.UntypedServiceImplementation {
  readonly ShouldRateLimit: grpc.handleUnaryCall<Question, Answer>;
}

/** Serves questions on loopback. */
export async function startRateLimitService(
  port: number,
  decide: (question: Question) => Answer | Promise<Answer>,
): Promise<RateLimitService> {
  const proto = fileURLToPath(new URL('rls.proto', import.meta.url));
  const definition = loadSync(proto, { keepCase: true, enums: String, longs: Number });
  const service = definition[
    'envoy.service.ratelimit.v3.RateLimitService'
  ] as unknown as grpc.ServiceDefinition<Methods>;
  const answer: Methods['ShouldRateLimit'] = (call, callback) => {
    const run = async (): Promise<void> => {
      try {
        callback(null, await decide(call.request));
      } catch (error) {
        callback({ code: grpc.status.INTERNAL, details: String(error) });
      }
    };
    void run();
  };
  const server = new grpc.Server();
  server.addService(service, { ShouldRateLimit: answer });
  const bound = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`127.0.0.1:${String(port)}`, grpc.ServerCredentials.createInsecure(), (error, used) => {
      if (error === null) resolve(used);
      else reject(error);
    });
  });
  return { port: bound, close: () => server.forceShutdown() };
}

/**
 * Counts the hits of each descriptor in each minute.
 * @param clock milliseconds since the epoch
 */
export function countMinutes(
  most: number,
  clock: () => number = () => Date.now(),
): (question: Question) => Answer {
  const hits = new Map<string, number>();
  let minute = 0;
  return ({ domain, descriptors }) => {
    const now = clock();
    const current = Math.floor(now / 60_000);
    if (current !== minute) hits.clear();
    minute = current;
    const statuses = descriptors.map(({ entries, hits_addend: addend }) => {
      const name = JSON.stringify([domain, entries]);
      const used = (hits.get(name) ?? 0) + (addend ? (addend.value ?? 0) : 1);
      hits.set(name, used);
      return {
        code: used > most ? 'OVER_LIMIT' : 'OK',
        current_limit: { requests_per_unit: most, unit: 'MINUTE' },
        limit_remaining: Math.max(0, most - used),
        duration_until_reset: { seconds: 60 - Math.floor((now / 1000) % 60) },
      };
    });
    const isOver = statuses.some(({ code }) => code === 'OVER_LIMIT');
    return { overall_code: isOver ? 'OVER_LIMIT' : 'OK', statuses };
  };
}

if (import.meta.main) {
  const { port } = await startRateLimitService(Number(process.argv[2] ?? 8081), countMinutes(3));
  process.stdout.write(`rate limit service on 127.0.0.1:${String(port)}\n`);
}
