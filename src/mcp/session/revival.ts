/** Sessions whose servers begin anew, for a client that goes on at another process or after a pause. */

import type { GatewayError } from '../../errors.ts';
import type { McpBackend, McpTarget } from '../../model/index.ts';
import type { Caller } from '../contract.ts';
import { memberOf, stringValue, type Envelope } from '../json/envelope.ts';
import { ownMessage } from '../json/ownMessage.ts';
import { targetError } from '../messages/rpcError.ts';
import type { TargetConnection } from '../targets/kind/target.ts';
import { announcedLists } from './announcedLists.ts';
import { serverMark, type CarriedState } from './carriedState.ts';
import { isRevivedAnew, resumableTarget, serversMark } from './resumption.ts';
import type { Session } from './session.ts';
import type { SessionFederation } from './sessionFederation.ts';

const initialized = 'notifications/initialized';
const initializedText = `{"jsonrpc":"2.0","method":"${initialized}"}`;

/**
 * Says the client's initialize to a new server.
 * @param version the revision that the client goes on with
 * @returns the answer of the server
 * @throws GatewayError (by the promise)
 */
async function beginAnew(
  connection: TargetConnection,
  initialize: Envelope,
  version: string | undefined,
): Promise<Envelope> {
  const { promise, resolve, reject } = Promise.withResolvers<Envelope>();
  connection.open(
    { envelope: initialize, token: undefined, edits: [] },
    { answered: resolve, failed: (error: GatewayError) => reject(error) },
  );
  const response = await promise;
  const failure = (what: string): GatewayError => targetError('mcp_target_failed', connection.name, what);
  if (response.isError) throw failure('refused to initialize again');
  const place = memberOf(response.text, response.body, 'protocolVersion');
  const agreed = place === 'ambiguous' ? undefined : stringValue(response.text, place);
  if (agreed !== version) throw failure('agreed to another protocol version than before');
  connection.send(initializedText, initialized);
  return response;
}

/** The session to go on with. */
interface Revived {
  readonly session: Session;
  readonly settings: McpBackend;
  readonly caller: Caller;
  /** The params of the client's `initialize`, as JSON text. */
  readonly initialize: string;
}

/** The parts of the process that begin sessions at servers. */
interface RevivalMeans {
  readonly connect: (target: McpTarget, session: Session, caller: Caller) => TargetConnection;
  readonly federate: (session: Session, settings: McpBackend, caller: Caller) => SessionFederation;
  /** Resolves when no other gateway has ended the session. @throws GatewayError, StoreError (by the promise) */
  readonly check: ((id: string) => Promise<void>) | undefined;
}

/**
 * Begins anew at the servers of a session.
 * @throws GatewayError, StoreError (by the promise)
 */
export async function revive(
  { session, settings, caller, initialize }: Revived,
  { federate, connect, check }: RevivalMeans,
): Promise<void> {
  // No server can say that the session has ended: only the store knows.
  await check?.(session.id);
  if (session.ended) return;
  const request = ownMessage('initialize', initialize);
  const [target] = settings.targets;
  if (target === undefined || settings.targets.length > 1 || settings.pin !== undefined) {
    session.federation = federate(session, settings, caller);
    session.federation.revive(request);
    return;
  }
  const connection = connect(target, session, caller);
  session.targets.add(target, connection);
  const response = await beginAnew(connection, request, session.protocolVersion);
  session.opening = { request, response };
  session.announces = announcedLists(response);
}

/** The params of an initialize, as JSON text; undefined where it has none. */
const paramsOf = ({ text, body }: Envelope): string | undefined =>
  body === undefined ? undefined : text.slice(body.start, body.end);

/** The state that another process needs to go on with a session; undefined where none can. */
export function placeOf(
  session: Session,
  settings: McpBackend,
  initialize: Envelope,
): Omit<CarriedState, 'beganAt' | 'principal'> | undefined {
  const target = resumableTarget(settings);
  const place = target && session.targets.get(target.name)?.place;
  if (target !== undefined && place !== undefined) return { ...place, server: serverMark(target) };
  const params = paramsOf(initialize);
  if (params === undefined || !isRevivedAnew(settings)) return undefined;
  return {
    version: session.protocolVersion,
    serverSession: undefined,
    address: undefined,
    server: serversMark(settings),
    initialize: params,
  };
}
