import { GatewayError } from '../../errors.ts';
import type { BroadRequest } from '../federation/federation.ts';
import { cut, type Envelope, type RpcId } from '../json/envelope.ts';
import type { Tally } from '../limits/budget.ts';
import { errorResponse } from '../messages/rpcError.ts';
import { respondError, type CallAnswer } from '../session/callAnswer.ts';

/** A request of a client that the gateway answers itself, or that waits for a policy or a list: answered once, or taken back. */
export class BroadCall implements BroadRequest {
  readonly id: RpcId;
  /** The id as the client wrote it. */
  readonly idText: string;
  private readonly answer: CallAnswer;
  private tally: Tally | undefined;
  private over = false;

  /** @param tally counts the request as a call of its client until it is settled, or taken back */
  constructor({ answer }: { readonly answer: CallAnswer }, { text, idSpan, id }: Envelope, tally?: Tally) {
    this.answer = answer;
    this.id = id!;
    this.idText = cut(text, idSpan);
    this.tally = tally;
  }

  /** The client waits for the response no more. */
  get abandoned(): boolean {
    return this.over || this.answer.gone;
  }

  get givesWay(): boolean {
    return this.tally !== undefined && this.answer.gone;
  }

  respond(text: string): void {
    if (this.leave()) this.answer.respond(text);
  }

  fail(error: GatewayError): void {
    if (this.leave()) respondError(this.answer, error, this.idText);
  }

  cancel(): void {
    // The targets may answer much later, and other calls need the place.
    this.settled();
    if (this.leave()) this.answer.skip(errorResponse(new GatewayError('mcp_cancelled'), this.idText));
  }

  /** The request waits for nothing any more. */
  settled(): void {
    this.tally?.leave();
    this.tally = undefined;
  }

  /** @returns false where the request was answered or taken back before */
  leave(): boolean {
    if (this.over) return false;
    this.over = true;
    return true;
  }
}
