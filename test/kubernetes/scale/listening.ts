import { createMetrics } from '../../../src/telemetry/index.ts';
import { memoryLog } from '../../../src/auth/log.testing.ts';
import { StreamSource } from '../../../src/stream/streamSource.ts';

export interface Credentials {
  readonly controller: string;
  readonly serverName: string;
  readonly caFile: string;
  /** By `namespace/name` of the Gateway. */
  readonly tokenFiles: ReadonlyMap<string, string>;
}

/** Proxies that follow a controller and serve nothing: all of the protocol, without the sockets. */
export interface Listeners {
  /** Resolves when each has a model that the controller has confirmed. */
  readonly complete: Promise<void>;
  close(): Promise<void>;
}

export function listen({ controller, serverName, caFile, tokenFiles }: Credentials): Listeners {
  const sources: StreamSource[] = [];
  const complete = Array.from(tokenFiles, async ([gateway, tokenFile]) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const source = new StreamSource({
      controllers: [new URL(`https://${controller}`)],
      gateway,
      tokenFile,
      caFile,
      serverName,
      onModel: async () => await Promise.resolve(resolve()),
      onAddresses: async () => await Promise.resolve(),
      userAgent: 'portcullis-scale',
      log: memoryLog().log,
      metrics: createMetrics({ process: false }),
    });
    sources.push(source);
    await source.start();
    await promise;
  });
  return {
    complete: Promise.all(complete).then(() => undefined),
    close: async () => {
      await Promise.all(sources.map(async (source) => await source.close()));
    },
  };
}
