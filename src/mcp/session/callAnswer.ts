import type { ResponseParts } from './largeAnswer.ts';
import type { DecidedBy, GatewayError } from '../../errors.ts';
import type { ItemName, ItemRules } from '../items/itemRules.ts';
import type { ItemNameSource } from '../items/itemVisibility.ts';
import type { ItemRefusal } from '../contract.ts';
import type { Envelope, RpcId } from '../json/envelope.ts';
import { errorResponse } from '../messages/rpcError.ts';

/** The target of a request, or the rule or setting that refuses it. */
export interface OperationNote {
  readonly target?: string | undefined;
  readonly refusal?: ItemRefusal | string | undefined;
  /** The policy and the rule behind a refusal that is a text. */
  readonly by?: DecidedBy | undefined;
}

/** The way back to the client for the requests of one POST. */
export interface CallAnswer {
  /** Decides which items the caller may know of; undefined where no rule is about items. */
  readonly itemRules: ItemRules | undefined;
  /** The client reads nothing now, or has all responses. */
  readonly gone: boolean;
  /**
   * The client has all responses, or has left an answer that it cannot resume. A client that lost a stream and may come
   * back for it is `gone` meanwhile, and its answer is not closed: its calls go on.
   */
  readonly closed: boolean;
  /** May messages other than responses go here, to be read now? */
  readonly takesEvents: boolean;
  /** May progress of its call go here, be it for a client that has yet to come back? */
  readonly takesProgress: boolean;
  /** Tells the audit stream about one of the requests. */
  note?(request: Envelope, what: OperationNote): void;
  /** The request is about this item of a target. */
  concerns?(item: ItemName): void;
  /**
   * Sends a notification or request of a server; the caller has asked `takesEvents` or `takesProgress`.
   * @param askedId the client's id of a request
   */
  push(message: string, names?: ItemNameSource, askedId?: RpcId): void;
  /** A server takes a request back. @param notice the notification that says so */
  withdraw(askedId: RpcId, notice: string): void;
  /**
   * Notes that the gateway ends one of the requests with an error; the response follows.
   * @param idText the id as the client wrote it
   */
  failed?(error: GatewayError, idText: string): void;
  /** Sends the response to one of the requests; the last one ends the answer. */
  respond(message: string): void;
  /**
   * Sends the response of a server in which only the id is another one.
   * @param idText the id as the client wrote it
   * @returns false where the answer needs the response as a text
   */
  relay?(response: Envelope, idText: string): boolean;
  /**
   * Begins the response to the only request, which comes in parts.
   * @param kept the response for a client that loses its stream and comes back
   * @returns undefined where the response must be whole
   */
  respondInParts?(kept: string): ResponseParts | undefined;
  /** Refuses the whole as if it had not begun; false where it has. */
  refuse(error: GatewayError, idText: string): boolean;
  /** Skips a request that will never be answered (it was cancelled): the answer ends without it. */
  skip(refusal: string): void;
  /** Every few seconds. */
  tick(now: number): void;
}

/** Does the client need the HTTP status of an error, and its headers? Only an HTTP response has a challenge. */
const needsStatus = ({ entry: { source, status, comeBack } }: GatewayError): boolean =>
  (source === 'client' && status !== 200) || comeBack === true;

/** Ends a request with an error of the gateway, by the status of the whole answer where that is still open. */
export function respondError(answer: CallAnswer, error: GatewayError, idText: string): void {
  if (needsStatus(error) && answer.refuse(error, idText)) return;
  answer.failed?.(error, idText);
  answer.respond(errorResponse(error, idText));
}
