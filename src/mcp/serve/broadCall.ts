import { GatewayError } from '../../errors.ts';
import type { BroadRequest } from '../federation/federation.ts';
import { cut, type Envelope, type RpcId } from '../json/envelope.ts';
import { errorResponse } from '../messages/rpcError.ts';
import { respondError, type CallAnswer } from '../session/callAnswer.ts';

/** A request of a client that the gateway answers itself; it is answered once, or taken back. */
export class BroadCall implements BroadRequest {
  readonly id: RpcId;
  /** The id as the client wrote it. */
  readonly idText: string;
  private readonly answer: CallAnswer;
  private over = false;

  constructor({ answer }: { readonly answer: CallAnswer }, { text, idSpan, id }: Envelope) {
    this.answer = answer;
    this.id = id!;
    this.idText = cut(text, idSpan);
  }

  respond(text: string): void {
    if (this.leave()) this.answer.respond(text);
  }

  fail(error: GatewayError): void {
    if (this.leave()) respondError(this.answer, error, this.idText);
  }

  cancel(): void {
    if (this.leave()) this.answer.skip(errorResponse(new GatewayError('mcp_cancelled'), this.idText));
  }

  /** @returns false where the request was answered or taken back before */
  leave(): boolean {
    if (this.over) return false;
    this.over = true;
    return true;
  }
}
