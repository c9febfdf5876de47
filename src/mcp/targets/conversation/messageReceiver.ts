import type { GatewayError } from '../../../errors.ts';
import type { Logger } from '../../../telemetry/index.ts';
import type { Envelope } from '../../json/envelope.ts';
import type { PendingCalls } from './pendingCalls.ts';

/** The connection whose messages are read. */
export interface MessageReceiver {
  readonly name: string;
  readonly log: Logger;
  readonly calling: PendingCalls;
  /** A request or notification of the server. */
  onMessage(message: Envelope, wireId: number): void;
  /** The answer to a call goes on. */
  progressed(wireId: number): void;
  /** The call is answered. */
  settled(wireId: number): void;
  /** The call will never be answered. */
  failed(wireId: number, error: GatewayError): void;
}
