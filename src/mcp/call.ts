import type { GatewayError } from '../errors.ts';
import type { Answer } from './answer.ts';
import { viewList, type ListView } from './listView.ts';
import { cut, type Envelope, type RpcId } from './json/envelope.ts';
import type { CallCell } from './measure.ts';
import { errorResponse, targetError } from './sendError.ts';
import type { Waiter } from './target.ts';

export interface CallStart {
  readonly answer: Answer;
  readonly request: Envelope;
  readonly cell: CallCell;
  /** The progress token as the client wrote it. */
  readonly tokenText: string | undefined;
  /** How the caller sees the list that this call asks for. */
  readonly list: ListView | undefined;
}

/** One request of a client on its way through a target. */
export class Call implements Waiter {
  readonly answer: Answer;
  readonly id: RpcId;
  /** The id as the client wrote it: `1` and `1.0` and `"1"` are three. */
  readonly idText: string;
  readonly method: string;
  readonly tokenText: string | undefined;
  private readonly cell: CallCell;
  private readonly list: ListView | undefined;
  private readonly since = performance.now();

  constructor(start: CallStart) {
    const { text, idSpan, id, method } = start.request;
    this.answer = start.answer;
    this.id = id!;
    this.idText = cut(text, idSpan);
    this.method = method;
    this.tokenText = start.tokenText;
    this.cell = start.cell;
    this.list = start.list;
  }

  get abandoned(): boolean {
    return this.answer.gone;
  }

  answered(response: Envelope): void {
    this.cell.ended(response.isError ? 'error' : 'ok', performance.now() - this.since);
    const { idSpan } = response;
    let { text } = response;
    if (this.list !== undefined && !response.isError) {
      const shown = viewList(response, this.list);
      if (shown === undefined) {
        const error = targetError(
          'mcp_target_failed',
          this.list.target,
          'answered with something that is no list',
        );
        this.answer.respond(errorResponse(error, this.idText));
        return;
      }
      // The list may stand before the id.
      if (shown !== text && idSpan.start > response.body!.start) {
        const moved = shown.length - text.length;
        this.answer.respond(
          shown.slice(0, idSpan.start + moved) + this.idText + shown.slice(idSpan.end + moved),
        );
        return;
      }
      text = shown;
    }
    this.answer.respond(text.slice(0, idSpan.start) + this.idText + text.slice(idSpan.end));
  }

  failed(error: GatewayError): void {
    this.cell.ended('failed', performance.now() - this.since);
    if (error.code === 'mcp_session_unknown' && this.answer.refuse(error, this.idText)) return;
    this.answer.respond(errorResponse(error, this.idText));
  }

  /** The client takes its request back; a response that still comes is dropped. */
  cancelled(error: GatewayError): void {
    this.cell.ended('cancelled', performance.now() - this.since);
    this.answer.skip(errorResponse(error, this.idText));
  }
}
