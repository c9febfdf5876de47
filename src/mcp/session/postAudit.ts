import type { GatewayError } from '../../errors.ts';
import type { OperationEnd, OperationRecord } from '../contract.ts';
import { cut, memberOf, readEnvelope, wholeOf, type Envelope, type Span } from '../json/envelope.ts';
import type { OperationNote } from './callAnswer.ts';
import type { ResponseParts } from './largeAnswer.ts';

/** A recorded request of a POST. */
export interface RecordedRequest {
  /** The id as the client wrote it; undefined where the HTTP request itself is the operation. */
  readonly id: string | undefined;
  readonly method: string;
  readonly record: OperationRecord;
  /** Said about the request so far. */
  note: OperationNote | undefined;
}

interface Answer {
  audit: PostAudit | undefined;
}

/** Ends the recorded operations of one POST with what its client gets. */
export class PostAudit {
  private readonly requests: readonly RecordedRequest[];
  private handed = false;

  constructor(requests: readonly RecordedRequest[]) {
    this.requests = requests;
  }

  /** The answer tells the outcome of the requests from now on. */
  follow(answer: Answer): void {
    answer.audit = this;
    this.handed = true;
  }

  note({ text, idSpan }: Envelope, what: OperationNote): void {
    const request = this.requestOf(cut(text, idSpan));
    if (request === undefined) return;
    const { note } = request;
    request.note = { target: what.target ?? note?.target, refusal: what.refusal ?? note?.refusal };
  }

  /** The response to one of the requests. */
  responded(response: string): void {
    const envelope = readEnvelope(response);
    if (typeof envelope === 'string') return;
    this.relayed(cut(response, envelope.idSpan), envelope, Buffer.byteLength(response));
  }

  /**
   * The response of a server to one of the requests.
   * @param idText the id of the request as the client wrote it
   * @param response as the server sent it
   * @param bytes of the response that the client gets
   */
  relayed(idText: string, response: Envelope, bytes: number): void {
    const request = this.requestOf(idText);
    if (request !== undefined) this.end(request, outcomeOf(request, response, bytes));
  }

  /** The client took one of the requests back. @param refusal the response for it */
  cancelled(refusal: string): void {
    const envelope = readEnvelope(refusal);
    const request = typeof envelope === 'string' ? undefined : this.requestOf(cut(refusal, envelope.idSpan));
    if (request !== undefined) this.end(request, { outcome: 'cancelled' });
  }

  /** The whole POST is refused. */
  refused({ code, entry }: GatewayError): void {
    const outcome = entry.source === 'upstream' ? 'error' : 'refused';
    const rpcCode = entry.jsonrpc === undefined ? {} : { code: entry.jsonrpc };
    for (const request of this.requests) this.end(request, { outcome, error: code, ...rpcCode });
  }

  /** Counts the bytes of a response in parts, and hears of its end. */
  followParts(parts: ResponseParts): ResponseParts {
    let bytes = 0;
    const ended = (outcome: 'ok' | 'cancelled' | 'error'): void => {
      for (const request of this.requests) this.end(request, { outcome, bytes });
    };
    return {
      write: (piece, release) => {
        bytes += piece.length;
        parts.write(piece, release);
      },
      end: () => {
        ended('ok');
        parts.end();
      },
      breakOff: (refusal, why) => {
        ended(why);
        parts.breakOff(refusal, why);
      },
    };
  }

  /** The HTTP exchange is over. */
  closed(): void {
    for (const { record } of this.requests) record.closed(this.handed);
  }

  private end(request: RecordedRequest, end: OperationEnd): void {
    const { note } = request;
    const refusal = end.refusal ?? note?.refusal;
    // Written out: a copy of an object with optional members costs more than the rest of this method.
    request.record.end({
      outcome: refusal !== undefined && end.outcome === 'error' ? 'refused' : end.outcome,
      code: end.code,
      error: end.error,
      bytes: end.bytes,
      target: end.target ?? note?.target,
      refusal,
    });
  }

  private requestOf(idText: string): RecordedRequest | undefined {
    return this.requests.find(({ id }) => id === idText);
  }
}

function outcomeOf(
  { method }: RecordedRequest,
  { text, body, isError }: Envelope,
  bytes: number,
): OperationEnd {
  if (isError) {
    const place = memberOf(text, wholeOf(text), 'error');
    const code = Number(typeof place === 'object' ? memberText(text, place, 'code') : undefined);
    return { outcome: 'error', code: Number.isSafeInteger(code) ? code : undefined, bytes };
  }
  const isCall = method === 'tools/call';
  if (!mayHave(text, isCall)) return { outcome: 'ok', bytes };
  if (isCall && memberText(text, body, 'isError') === 'true') return { outcome: 'tool_error', bytes };
  if (memberText(text, body, 'resultType') === '"input_required"')
    return { outcome: 'input_required', bytes };
  return { outcome: 'ok', bytes };
}

/** Can the result have a member that tells its outcome? A look at the text costs less than a walk over its members. */
const mayHave = (text: string, isCall: boolean): boolean =>
  (isCall && text.includes('isError')) || text.includes('resultType') || text.includes('\\');

function memberText(text: string, span: Span | undefined, name: string): string | undefined {
  const place = memberOf(text, span, name);
  return typeof place === 'object' && place.end - place.start <= 64
    ? text.slice(place.start, place.end)
    : undefined;
}
