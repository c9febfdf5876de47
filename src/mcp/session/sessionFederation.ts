/** The functions of a session with several targets that its other parts use. */

import type { McpBackend, McpTarget } from '../../model/index.ts';
import type { Caller } from '../contract.ts';
import type { Envelope, RpcId } from '../json/envelope.ts';
import type { Naming } from '../items/naming.ts';
import type { TargetConnection, TargetView } from '../targets/kind/target.ts';

export interface SessionFederation {
  /** The names under which the client knows the items of the targets. */
  readonly naming: Naming;
  /** Goes on with the one target of a session that gets more of them. @param response to `initialize` */
  adopt(initialize: Envelope, response: Envelope, connection: TargetConnection, target: McpTarget): void;
  /** Goes on with a session of another process: every server begins anew with the first request that needs it. */
  revive(initialize: Envelope): void;
  /** Changed definitions are withheld. */
  readonly enforcesPins: boolean;
  /** Definitions that were withheld may have been approved. */
  pinsApproved(): void;
  /** The configuration of the newest request. */
  follow(settings: McpBackend): void;
  /** A request of this caller is being served. */
  attachCaller(caller: Caller): void;
  /** The client has said that it is initialized. */
  initialized(text: string): void;
  /** A server says that one of its lists has changed. */
  onListChanged(target: TargetConnection, method: string): void;
  /** A server ended, and starts again. */
  onDown(target: TargetConnection): void;
  /** A server has begun again, maybe with other lists. */
  onUp(target: TargetConnection): void;
  /** A server does not continue the session, or was stopped to make room: it begins anew when it is needed. */
  onGone(target: TargetConnection): void;
  /** The client takes back a request that went to all targets; false where there is none with this id. */
  cancel(id: RpcId): boolean;
  /** Gives up the requests to all targets whose client has left. */
  dropAbandoned(): void;
  /** Every few seconds. */
  tick(): void;
  /** The targets, also those that do not work. */
  views(): readonly TargetView[];
  /** Ends all that is not a connection of the session. */
  close(): void;
}
