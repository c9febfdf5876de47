/** A target of a session with several: its connection, and the answer of its server to `initialize`. */

import { asGatewayError, GatewayError, type ErrorCode } from '../../errors.ts';
import type { McpTarget } from '../../model/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { memberOf, stringValue, type Envelope } from '../json/envelope.ts';
import { errorTextOf } from '../json/errorMember.ts';
import type { CallLimit } from '../limits/callTimeouts.ts';
import type { RetainedMemory } from '../limits/retainedMemory.ts';
import { isOwnLimit, targetError } from '../messages/rpcError.ts';
import { isSupportedVersion } from '../messages/versions.ts';
import type { TargetConnection, TargetView } from '../targets/kind/target.ts';
import { serverFacts, type ServerFacts } from './capabilities.ts';
import type { Circuits } from './circuits.ts';
import { MissedLists } from './missedLists.ts';
import { ask, type AskedFor } from './targetAsk.ts';
import { TargetLists } from './targetLists.ts';
import type { StartFailure } from '../session/targetStarts.ts';

export interface MemberStart {
  readonly target: McpTarget;
  /** The logger of the session. */
  readonly log: Logger;
  readonly keep: RetainedMemory;
  readonly circuits: Circuits;
  /** Tells the target of the newest caller from others, for `circuits`. */
  readonly circuit: () => string;
  /** Opens a connection, which belongs to the session from then on. @throws GatewayError */
  readonly connect: (target: McpTarget) => TargetConnection;
  /** The connection belongs to the session no more. */
  readonly disconnected: (connection: TargetConnection) => void;
  /** The way of the newest caller. @throws GatewayError where it has no credential for the target */
  readonly wayTo: (connection: TargetConnection) => AskedFor;
  /** The client's initialize. */
  readonly initialize: () => Envelope;
  /** Runs when the server has answered `initialize`, before anything else is sent to it. */
  readonly onReady: (member: Member, connection: TargetConnection) => void;
  /** May clients see the instructions of the target? */
  readonly allowsInstructions: (target: string, text: string) => Promise<boolean>;
  /** A list is back that the client got without the target. */
  readonly onBack: (method: string) => void;
  /** Key of the backend. */
  readonly backend: string;
  /** Hears of the end of each start. @param failure absent: it worked */
  readonly onStart: (target: string, failure?: StartFailure) => void;
  /** The configuration says something else of the target by now. */
  readonly moved: (target: McpTarget, connection: TargetConnection) => void;
}

/** The time for a server that failed to answer a list again. */
const askLimit: CallLimit = { ms: 30_000 };
/** The failures of a start after which new sessions wait for a while. */
const ofTarget: ReadonlySet<ErrorCode> = new Set([
  'mcp_target_failed',
  'mcp_target_timeout',
  'mcp_target_unreachable',
]);
/** The time for a server to leave when it has left the configuration, in milliseconds. */
const leaveGraceMs = 3_000;

/** The connection and the answer of a server that was there before. */
export interface Adopted {
  readonly connection: TargetConnection;
  readonly facts: ServerFacts;
}

export class Member {
  /** As the configuration has it for the newest request. */
  target: McpTarget;
  readonly lists: TargetLists;
  /** Lists that the client got without this target. */
  readonly missed = new MissedLists();
  private readonly start: MemberStart;
  private connection: TargetConnection | undefined;
  private answer: ServerFacts | undefined;
  private starting: Promise<TargetConnection> | undefined;
  private lastError: string | undefined;
  private closed = false;

  constructor(start: MemberStart, adopted?: Adopted) {
    this.start = start;
    this.target = start.target;
    this.lists = new TargetLists(start.keep);
    this.connection = adopted?.connection;
    this.answer = adopted?.facts;
  }

  get name(): string {
    return this.target.name;
  }

  /** The answer of the server to `initialize`, also while it is away; undefined where it has never answered. */
  get facts(): ServerFacts | undefined {
    return this.answer;
  }

  /** The connection of a server that has answered `initialize`; its own restarts are its own affair. */
  get ready(): TargetConnection | undefined {
    return this.starting === undefined ? this.connection : undefined;
  }

  /** The name of its target when the connection began. */
  get connectedAs(): string | undefined {
    return this.connection?.name;
  }

  owns(connection: TargetConnection): boolean {
    return this.connection === connection;
  }

  /**
   * The connection, once the server has answered `initialize`. A server that failed is tried again after a while.
   * @throws GatewayError mcp_target_failed and what else a start can fail with (by the promise)
   */
  connected(): Promise<TargetConnection> {
    if (this.starting !== undefined) return this.starting;
    if (this.connection !== undefined) return Promise.resolve(this.connection);
    if (this.closed) return Promise.reject(this.failure('has been stopped'));
    const { circuits, circuit } = this.start;
    const why = circuits.refusal(circuit);
    if (why !== undefined)
      return Promise.reject(new GatewayError('mcp_target_failed', { message: `${why}; try again later` }));
    const starting = this.begin().finally(() => (this.starting = undefined));
    this.starting = starting;
    return starting;
  }

  /** The configuration of the newest request; the server is the same. */
  follow(target: McpTarget): void {
    this.target = target;
    if (this.connection !== undefined) this.start.moved(target, this.connection);
  }

  /** Tries a server again that has failed, where it is time to. */
  retry(): void {
    if (this.closed || this.starting !== undefined) return;
    const { connection } = this;
    if (connection === undefined) {
      this.connected().catch(() => undefined);
      return;
    }
    connection.retry?.();
    const { wayTo, onBack } = this.start;
    this.missed.tick((method) => answers(connection, method, wayTo), onBack);
  }

  private failure(what: string): GatewayError {
    return targetError('mcp_target_failed', this.name, what);
  }

  private async begin(): Promise<TargetConnection> {
    const { circuits, log, connect, initialize, onReady, onStart, backend } = this.start;
    // The newest caller may be another one when the server answers.
    const circuit = this.start.circuit();
    try {
      const connection = connect(this.target);
      this.connection = connection;
      const response = await opened(connection, initialize());
      this.checkVersion(response);
      this.answer = await this.shownFacts(serverFacts(response));
      this.lastError = undefined;
      circuits.worked(circuit);
      onStart(this.name);
      onReady(this, connection);
      return connection;
    } catch (error) {
      const failure = asGatewayError(error);
      this.lastError = failure.message;
      // A full budget and a session that ends say nothing of the server.
      if (!this.closed && ofTarget.has(failure.code) && !isOwnLimit(failure))
        circuits.failed(circuit, failure.message, { backend, target: this.name });
      if (this.closed) throw failure;
      const { stderr = [] } = this.connection?.view() ?? {};
      onStart(this.name, { reason: failure.message, stderr });
      log
        .child({ target: this.name })
        .warn('Target failed to start', { reason: failure.message, detail: failure.detail });
      this.drop();
      throw failure;
    }
  }

  private async shownFacts(facts: ServerFacts): Promise<ServerFacts> {
    const { instructions } = facts;
    if (instructions === undefined || (await this.start.allowsInstructions(this.name, instructions)))
      return facts;
    return { ...facts, instructions: undefined };
  }

  private checkVersion(response: Envelope): void {
    if (response.isError) throw this.failure(`answered initialize with an error: ${errorTextOf(response)}`);
    const place = memberOf(response.text, response.body, 'protocolVersion');
    const version = place === 'ambiguous' ? undefined : stringValue(response.text, place);
    if (version === undefined || isSupportedVersion(version)) return;
    const shown = version.slice(0, 64);
    throw this.failure(
      `answered initialize with protocol version ${shown}, which the gateway does not speak`,
    );
  }

  /** The server does not continue the session: the next use begins anew. */
  drop(): void {
    const { connection } = this;
    this.connection = undefined;
    this.lists.forget();
    if (connection === undefined) return;
    this.start.disconnected(connection);
    void connection.close(leaveGraceMs);
  }

  /** The target is in the configuration no more. */
  remove(): void {
    this.stop();
    this.drop();
  }

  /** The session ends, and with it the connection. */
  stop(): void {
    this.closed = true;
  }

  view(): TargetView {
    const view = this.connection?.view();
    if (view !== undefined) return { ...view, name: this.name };
    return {
      name: this.name,
      state: this.closed ? 'closed' : 'failed',
      pid: undefined,
      restarts: 0,
      pending: 0,
      lastError: this.lastError,
    };
  }
}

/** Does a server answer a list? The client reads it again by itself. */
async function answers(
  connection: TargetConnection,
  method: string,
  wayTo: MemberStart['wayTo'],
): Promise<boolean> {
  try {
    return !(await ask(connection, method, undefined, askLimit, wayTo(connection))).isError;
  } catch {
    return false;
  }
}

/** Sends the first request of a session to a server. */
async function opened(connection: TargetConnection, initialize: Envelope): Promise<Envelope> {
  const { promise, resolve, reject } = Promise.withResolvers<Envelope>();
  connection.open(
    { envelope: initialize, token: undefined, edits: [] },
    { answered: resolve, failed: (error: GatewayError) => reject(error) },
  );
  return await promise;
}
