/** The functions of an MCP server that a session needs, whatever way it is reached. */

import type { GatewayError } from '../../../errors.ts';
import type { HeaderLine } from '../../../http/index.ts';
import type { ChildEnvironment, Reach } from '../../contract.ts';
import type { Envelope, RpcId } from '../../json/envelope.ts';
import type { MemberView } from '../../json/responseScan.ts';
import type { Era } from '../../messages/eras.ts';
import type { Outgoing } from '../../messages/outgoing.ts';

/** May whoever reads the session's streams know of the resource? */
export type CanSeeResource = (uri: string) => boolean;

/** Takes a response that goes to the client while it arrives; the failure of its call breaks it off. */
export interface LargeAnswer {
  readonly view: MemberView;
  /** The id of the request, as the client wrote it. */
  readonly idText: string;
  /** Members that the result gets at its end, as JSON text. @param seen the watched members that it has */
  addedMembers(seen: ReadonlySet<string>): string;
  /** @param release hears that the memory of the bytes is needed no more */
  write(bytes: Buffer, release: () => void): void;
  /** The response is whole: the call is answered. */
  end(): void;
}

/** Waits for the response to one request. Exactly one of the first two is called, once, or `end` of a large answer. */
export interface Waiter {
  answered(response: Envelope): void;
  failed(error: GatewayError): void;
  /** A large response has begun. @returns undefined where it must be whole before it can be passed on */
  beginLarge?(): LargeAnswer | undefined;
  /** True when nobody would get the response any more. */
  readonly abandoned?: boolean;
  /** It waits for as long as the session lives: no message without an id is about it. */
  readonly standing?: boolean;
}

/** `suspended`: the child of an idle session was taken, and starts again with the session's next message. */
export type TargetState = 'starting' | 'ready' | 'restarting' | 'suspended' | 'failed' | 'closed';

export interface TargetView {
  readonly name: string;
  readonly state: TargetState;
  /** The last change of the state, in milliseconds since the epoch; absent where there is no connection. */
  readonly since?: number;
  /** The pid of the child process, if there is one. */
  readonly pid: number | undefined;
  readonly restarts: number;
  readonly pending: number;
  /** The last error. */
  readonly lastError: string | undefined;
  /** The era in which the gateway speaks with the server; absent: legacy. */
  readonly era?: Era;
  /** The last lines that the child wrote to its standard error. */
  readonly stderr?: readonly string[];
}

/** The place of a session with a server, for the process that continues it. */
export interface TargetPlace {
  /** As the server named the session; undefined where it keeps none. */
  readonly serverSession: string | undefined;
  /** The revision that was agreed on. */
  readonly version: string | undefined;
  /** The one address that knows the session, `host:port`; undefined where any will do. */
  readonly address: string | undefined;
}

/** A request of a client of the modern era, with its `Mcp-Param-*` lines. */
export interface RequestWithLines {
  readonly request: Envelope;
  readonly lines: readonly HeaderLine[];
}

export interface TargetConnection {
  readonly name: string;
  /** The era in which the server is spoken to, once `open` was answered; absent: legacy. */
  readonly era?: Era;
  /** The first request of a session; it is kept to be said again after a restart. */
  open(initialize: Outgoing, waiter: Waiter): void;
  /** Answers the id on the wire, 0 where the call failed at once. */
  call(out: Outgoing, waiter: Waiter): number;
  /** A notification or a response; lost where the target is down, for it would not know what it is about. */
  send(text: string, method?: string): void;
  /** The call with this id on the wire; undefined when it was answered. */
  pending(wireId: RpcId): Waiter | undefined;
  /** Every call that waits, oldest first, with its id on the wire. */
  calls(): Iterable<[number, Waiter]>;
  /** Gives up one call whose client has left, and tells the server; false where there is none. */
  dropAbandoned(): boolean;
  /** Stops waiting for a call; a late response is dropped. */
  forget(wireId: number): void;
  /** Counts starts of the server behind it: what a former one asked is void. */
  readonly generation: number;
  /** The server made progress with a call. */
  progressed(wireId: number): void;
  /** The server waits for an answer of the client, or does so no more: the time of its calls stands still meanwhile. */
  hold(waits: boolean): void;
  /** Changes the way in which the target is reached, if it is not a child of the gateway. */
  use?(reach: Reach): void;
  /** Changes the values of the caller, if the target is a child with such values: another child gets other values. */
  inject?(environment: ChildEnvironment): void;
  /** The state that another process needs to continue this session; undefined if none can. */
  readonly place?: TargetPlace | undefined;
  /** Subscriptions wait for a caller for whom they can be judged. */
  readonly awaitsCaller?: boolean;
  /** A caller is there again for whom subscriptions can be judged: the waiting ones are sent again. */
  attended?(canSeeResource: CanSeeResource): void;
  /** A client listens here to what the server says by itself, or does so no more. */
  setClientListening?(wanted: boolean): void;
  /**
   * Asks the server for news of a task of the tasks extension, until `unwatchTask` is called as often.
   * @param id as the server calls it
   * @returns (never rejects) whether the server tells of it
   */
  watchTask?(id: string): Promise<boolean>;
  unwatchTask?(id: string): void;
  /**
   * The `Mcp-Param-*` lines of a request that checks have changed; the client's lines fit the request before.
   * @returns (never rejects) no lines where the client adds none, or the server needs none
   */
  parameterLines?(changed: Envelope, before: RequestWithLines): Promise<readonly HeaderLine[]>;
  /**
   * Resolves (never rejects) when messages of the server that belong to no call arrive here, or the server has had the
   * time to open a stream for them. Undefined where nothing is to be waited for.
   */
  readonly hearing?: Promise<void> | undefined;
  /** Resolves (never rejects) when the server has taken note of what it must know first; undefined where it has. */
  readonly settling?: Promise<void> | undefined;
  /**
   * Ends it here and not at the server, since others may go on with it.
   * @returns what ends it there (never rejects)
   */
  leave?(): () => Promise<void>;
  /**
   * Stops, in a session that was idle for long, what the server of this session alone takes up.
   * @returns false where the session cannot go on without it
   */
  park?(): boolean;
  /** Starts a server again that was given up, where it is time to. */
  retry?(): void;
  pause(): void;
  resume(): void;
  /** Every few seconds, `now` being `performance.now()`. */
  tick?(now: number): void;
  /** Resolves (never rejects) when nothing of the target is left. */
  close(graceMs: number): Promise<void>;
  view(): TargetView;
}

/**
 * The origin of a server's message: the stream of a call, or a stream for messages about no call. Undefined where
 * the server does not say (stdio).
 */
export type MessageOrigin = Waiter | 'aside' | undefined;

/** The answer to the first request of a session: a response, or a failure. */
export type Opening = { readonly response: Envelope } | { readonly error: GatewayError };

/** The calls of a target to its session. */
export interface TargetListener {
  /** A request or a notification of the server. */
  onMessage(target: TargetConnection, message: Envelope, belongsTo?: MessageOrigin): void;
  /**
   * May those who read the session's streams now know of a resource of the target? Undefined where nobody reads who could
   * be judged.
   */
  canSeeResource(target: TargetConnection): CanSeeResource | undefined;
  /** The server behind the connection ended; what it had asked needs no answer any more. */
  onDown(target: TargetConnection): void;
  /** The server starts again: calls that are made now are sent when it has begun. */
  onAgain?(target: TargetConnection): void;
  /** The server has begun again and knows what the former one was told: its lists may be others. */
  onUp?(target: TargetConnection): void;
  /** The server does not take the first request of the session again. */
  onRefused?(target: TargetConnection, opening: Opening): void;
  /** The server does not know the session any more, and it is not to be begun again. */
  onGone(target: TargetConnection): void;
  /** The server was stopped to make room, and is not to be started again. */
  onTaken(target: TargetConnection): void;
}
