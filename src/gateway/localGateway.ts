import { connect, createServer, type Server, type Socket } from 'node:net';
import { messageOf } from '../errorText.ts';
import { StdioRequests } from '../mcp/index.ts';
import type { Model } from '../model/index.ts';
import type { Metrics, RootLogger } from '../telemetry/index.ts';
import { PrivateFolder, ServingProcess, type Secrets } from '../workers/index.ts';
import { Intake } from './intake.ts';
import { localModel, type LocalModel } from './localModel.ts';
import { StartError } from './startError.ts';

export interface LocalGatewayOptions {
  /** The name of the configuration, for logs. */
  readonly source: string;
  /** The name of the route; undefined: the only route with MCP servers. */
  readonly route: string | undefined;
  readonly log: RootLogger;
  readonly metrics: Metrics;
  readonly secrets: Secrets;
}

/** @throws StartError where a part of the gateway cannot begin */
function begun<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    throw new StartError('system', [messageOf(error)], error);
  }
}

/** A gateway in this process that serves one MCP route to this process only: it opens no port. */
export class LocalGateway {
  /** Requests of revision 2026-07-28 to this gateway. */
  readonly requests = new StdioRequests();
  private readonly options: LocalGatewayOptions;
  private readonly plane: ServingProcess;
  private readonly intake: Intake;
  private readonly folder = new PrivateFolder();
  private readonly server: Server;
  private served: LocalModel;

  private constructor(options: LocalGatewayOptions, first: LocalModel) {
    const { log, metrics, secrets, source } = options;
    this.options = options;
    this.served = first;
    // A session belongs to this process: no key of others, and nobody who goes on with it.
    const { sessionTtlMs, store, audit, pins } = first.model.process.fixed;
    const fixed = {
      sessionTtlMs,
      sessionResumableMs: 0,
      ...(store && { store }),
      ...(audit && { audit }),
      ...(pins !== undefined && { pins }),
    };
    this.plane = new ServingProcess({ log, metrics, secrets, fixed, unbound: true });
    this.intake = new Intake({ source, plane: this.plane, log, free: () => undefined });
    this.server = createServer({ noDelay: true, allowHalfOpen: true }, (socket) =>
      this.plane.admit(this.served.bind, socket),
    );
  }

  /** @throws StartError where the configuration has no such route, or cannot be prepared */
  static async start(model: Model, options: LocalGatewayOptions): Promise<LocalGateway> {
    const first = localModel(model, options.route);
    if (typeof first === 'string') throw new StartError('configuration', [first]);
    if (first.model.process.fixed.audit?.sink.kind === 'stdout')
      throw new StartError('configuration', [
        'config.audit.sink: stdout carries MCP messages here; use a file or http',
      ]);
    const gateway = begun(() => new LocalGateway(options, first));
    try {
      await gateway.begin(first);
    } catch (error) {
      await gateway.close(0);
      throw error;
    }
    return gateway;
  }

  private async begin(first: LocalModel): Promise<void> {
    await this.plane.apply(first.model);
    await new Promise<void>((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen(this.socketPath, resolve);
    });
    this.intake.begin(first.model, []);
  }

  /** The path of the MCP endpoint. */
  get path(): string {
    return this.served.path;
  }

  /** The name of the route. */
  get route(): string {
    return this.served.route;
  }

  /** Opens a connection to the endpoint. */
  connect(): Socket {
    return connect(this.socketPath);
  }

  /** Takes a changed configuration into use, if it still has the route. */
  offer(model: Model, warnings: readonly string[]): void {
    const next = localModel(model, this.options.route);
    if (typeof next === 'string') {
      this.intake.refuse([next]);
      return;
    }
    // The client goes on with the path that it has.
    const { path } = this.served;
    if (next.path !== path)
      this.intake.refuse([`the path of the route changed from ${path} to ${next.path}`]);
    else this.intake.offer(next.model, warnings);
  }

  refuse(problems: readonly string[]): void {
    this.intake.refuse(problems);
  }

  keepSecret(secrets: Secrets): void {
    this.plane.keepSecret(secrets);
  }

  /** Ends the session and its servers. Resolves (never rejects) when no child process is left. */
  async close(graceMs: number): Promise<void> {
    this.intake.close();
    this.server.close();
    await this.plane.close(graceMs);
    this.folder.remove();
  }

  private get socketPath(): string {
    return this.folder.socket('local');
  }
}
