import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { memoryLog, type Line } from '../auth/log.testing.ts';
import type { AddressLists, Model } from '../model/index.ts';
import { authority } from '../proxy/certificates.testing.ts';
import { createMetrics } from '../telemetry/index.ts';
import {
  Unavailable,
  StreamServer,
  type Caller,
  type ServerPace,
  type StreamServerOptions,
} from './server.ts';
import type { BrokenRoute, ClosedPort } from './wire.ts';
import { until } from '../until.testing.ts';
import { StreamSource, type StreamPace, type StreamSourceOptions } from './streamSource.ts';

/** The folder with the tokens and certificates of a test. */
export class Folder {
  readonly path = mkdtempSync(join(tmpdir(), 'portcullis-stream-'));
  readonly ca = authority();
  readonly caFile = this.write('ca.crt', this.ca.cert);

  constructor(t: TestContext) {
    t.after(() => rmSync(this.path, { recursive: true, force: true }));
  }

  write(name: string, content: string | Uint8Array): string {
    const file = join(this.path, name);
    writeFileSync(file, content);
    return file;
  }
}

/** A controller's end. The token of a Gateway is its own name. */
export interface Controller {
  readonly server: StreamServer<Caller & { readonly gateway: string }>;
  readonly url: URL;
  readonly lines: Line[];
  exposed(): Promise<string>;
}

export interface ControllerOptions extends Partial<
  Pick<
    StreamServerOptions<Caller>,
    'port' | 'certificate' | 'controller' | 'onTroubles' | 'wantsTroublesElsewhere' | 'limits'
  >
> {
  readonly pace?: Partial<ServerPace>;
  /** Token → when it expires. */
  readonly expiresAt?: (token: string) => number | undefined;
  readonly away?: () => boolean;
}

export async function startController(
  t: TestContext,
  folder: Folder,
  { pace, expiresAt, away, ...options }: ControllerOptions = {},
): Promise<Controller> {
  const { log, lines } = memoryLog();
  const metrics = createMetrics({ process: false });
  const server = await StreamServer.listen<Caller & { readonly gateway: string }>({
    host: '127.0.0.1',
    port: 0,
    controller: 'test',
    certificate: folder.ca.issue({ names: ['127.0.0.1'] }),
    authenticate: async (token) => {
      await Promise.resolve();
      if (away?.() === true) throw new Unavailable('away');
      // `namespace.name.pod`: a token has no slashes.
      const [namespace, gateway, pod] = token.split('.');
      if (namespace !== 'ns') return undefined;
      return { subject: token, pod, expiresAt: expiresAt?.(token), gateway: `${namespace}/${gateway ?? ''}` };
    },
    mayRead: (caller, gateway) => caller.gateway === gateway,
    log,
    metrics,
    pace: { beatMs: 1_000, ...pace },
    ...options,
  });
  t.after(async () => await server.close(0));
  return {
    server,
    url: new URL(`https://127.0.0.1:${String(server.port)}`),
    lines,
    exposed: async () => await metrics.expose(),
  };
}

/** A proxy's end, with everything it was told to take. */
export class Proxy {
  readonly models: Model[] = [];
  readonly lists: AddressLists[] = [];
  readonly lines: Line[];
  readonly source: StreamSource;
  /** Thrown at the next model. */
  refusal: string | undefined;
  /** The broken routes of the model that it has taken. */
  broken: readonly BrokenRoute[] = [];
  closed: readonly ClosedPort[] = [];
  /** Awaited before a model is taken. */
  hold: Promise<void> | undefined;
  private readonly metrics = createMetrics({ process: false });

  constructor(
    t: TestContext,
    options: Partial<StreamSourceOptions> & Pick<StreamSourceOptions, 'controllers' | 'caFile' | 'tokenFile'>,
  ) {
    const { log, lines } = memoryLog();
    this.lines = lines;
    this.source = new StreamSource({
      gateway: 'ns/gw',
      onModel: async (model) => {
        await this.hold;
        if (this.refusal !== undefined) throw new Error(this.refusal);
        this.models.push(model);
      },
      onAddresses: async (model, lists) => {
        await Promise.resolve();
        this.models.push(model);
        this.lists.push(lists);
      },
      flaws: async () => await Promise.resolve({ broken: this.broken, closed: this.closed }),
      userAgent: 'test',
      log,
      metrics: this.metrics,
      ...options,
      pace: { backoff: { firstMs: 5, maxMs: 50 }, partingMs: 5, beatMs: 1_000, keepMs: 1, ...options.pace },
    });
    t.after(async () => await this.source.close());
  }

  get model(): Model | undefined {
    return this.models.at(-1);
  }

  /** Waits until it has the newest of everything. */
  async synchronized(): Promise<void> {
    await until('the proxy has the newest model', () => this.source.problems.length === 0);
  }

  async exposed(): Promise<string> {
    return await this.metrics.expose();
  }
}

export const quickPace: Partial<StreamPace> = { connectMs: 200 };
