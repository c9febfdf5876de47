import type { GatewayError } from '../../errors.ts';
import type {
  OperationAnswer,
  OperationEnd,
  OperationRecord,
  OperationStart,
  RequestAudit,
} from '../contract.ts';
import {
  cut,
  memberOf,
  memberText,
  readEnvelope,
  wholeOf,
  type Envelope,
  type Span,
} from '../json/envelope.ts';
import { isToolError } from '../messages/toolError.ts';
import type { OperationNote } from './callAnswer.ts';
import type { ResponseParts } from './largeAnswer.ts';

/** Ends the recorded operations of one POST with what its client gets. */
export class PostAudit {
  private readonly audit: RequestAudit;
  /** Operations, be they recorded or not. */
  private operations = 0;
  /** Most have no more than one; a list would cost more than all else here. */
  private first: RecordedRequest | undefined;
  private others: RecordedRequest[] | undefined;

  constructor(audit: RequestAudit) {
    this.audit = audit;
  }

  /**
   * Records the beginning of an operation, if the stream includes it.
   * @param message undefined where the HTTP request itself is the operation
   * @throws GatewayError audit_unavailable
   */
  begin(start: OperationStart, message: Envelope | undefined): void {
    this.operations++;
    const record = this.audit.begin(start);
    if (record === undefined) return;
    const request = new RecordedRequest(message, record);
    if (this.first === undefined) this.first = request;
    else (this.others ??= []).push(request);
  }

  /** The answer tells the outcome of the requests from now on. */
  follow(answer: { audit: PostAudit | undefined }): void {
    answer.audit = this;
    this.audit.outlive();
  }

  note({ text, idSpan }: Envelope, { target, refusal, by }: OperationNote): void {
    const request = this.requestOf(text, idSpan);
    if (request === undefined) return;
    request.target = target ?? request.target;
    request.refusal = refusal ?? request.refusal;
    request.by = by ?? request.by;
  }

  /** The response to one of the requests. */
  responded(response: string): void {
    const envelope = readEnvelope(response);
    if (typeof envelope === 'string') return;
    this.requestOf(response, envelope.idSpan)?.respond(envelope, response);
  }

  /**
   * The response of a server to one of the requests.
   * @param idText the id of the request as the client wrote it
   * @param response as the server sent it
   * @param sent the response that the client gets
   */
  relayed(idText: string, response: Envelope, sent: string): void {
    this.withId(idText)?.respond(response, sent);
  }

  /** The gateway ends one of the requests with an error, and its response follows. @param idText as in `relayed` */
  failed({ code }: GatewayError, idText: string): void {
    const request = this.withId(idText);
    if (code === 'mcp_cancelled') request?.end({ outcome: 'cancelled' });
    else if (request !== undefined) request.error = code;
  }

  /** The client took one of the requests back. @param refusal the response for it */
  cancelled(refusal: string): void {
    const envelope = readEnvelope(refusal);
    if (typeof envelope !== 'string') this.requestOf(refusal, envelope.idSpan)?.end({ outcome: 'cancelled' });
  }

  /** The whole POST is refused. */
  refused({ code, entry }: GatewayError): void {
    const outcome = entry.source === 'upstream' ? 'error' : 'refused';
    for (const request of this.requests) request.end({ outcome, error: code, code: entry.jsonrpc });
  }

  /** Counts the bytes of a response in parts, and hears of its end. */
  followParts(parts: ResponseParts): ResponseParts {
    let bytes = 0;
    const ended = (outcome: 'ok' | 'cancelled' | 'error'): void => {
      for (const request of this.requests) request.end({ outcome, bytes });
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

  private withId(idText: string): RecordedRequest | undefined {
    return this.requestOf(idText, { start: 0, end: idText.length });
  }

  /** @param text has the id of the request at the span */
  private requestOf(text: string, idSpan: Span): RecordedRequest | undefined {
    // All that happens on the way of a single request is about it.
    if (this.operations === 1) return this.first;
    return this.requests.find((request) => request.hasId(cut(text, idSpan)));
  }

  private get requests(): readonly RecordedRequest[] {
    return this.first === undefined ? [] : [this.first, ...(this.others ?? [])];
  }
}

/** A recorded request of a POST, and its answer. */
class RecordedRequest implements OperationAnswer {
  readonly record: OperationRecord;
  /** Said about the request so far. */
  target: string | undefined;
  refusal: OperationNote['refusal'];
  by: OperationNote['by'];
  /** The code of the gateway's own error that ends it. */
  error: string | undefined;
  private readonly message: Envelope | undefined;
  private response: Envelope | undefined;
  private sent = '';
  private ended: OperationEnd | undefined;

  constructor(message: Envelope | undefined, record: OperationRecord) {
    this.message = message;
    this.record = record;
  }

  get size(): number {
    return this.response === undefined ? 0 : this.response.text.length + this.sent.length;
  }

  hasId(idText: string): boolean {
    return this.message !== undefined && cut(this.message.text, this.message.idSpan) === idText;
  }

  /** @param response as its server sent it @param sent the response that the client gets */
  respond(response: Envelope, sent: string): void {
    if (this.hasEnded) return;
    this.response = response;
    this.sent = sent;
    this.record.answered(this);
  }

  end(end: OperationEnd): void {
    if (this.hasEnded) return;
    this.ended = end;
    this.record.answered(this);
  }

  read(): OperationEnd {
    const { target, refusal, by, response } = this;
    const { outcome, code, error, bytes } =
      this.ended ?? answerOf(this.message?.method, response!, Buffer.byteLength(this.sent));
    return {
      outcome: refusal !== undefined && failures.has(outcome) ? 'refused' : outcome,
      code,
      error: error ?? this.error,
      bytes,
      target,
      refusal,
      by,
    };
  }

  private get hasEnded(): boolean {
    return this.response !== undefined || this.ended !== undefined;
  }
}

/** The outcomes of a refused request, by its response alone. A guardrail may refuse a call with a result. */
const failures: ReadonlySet<OperationEnd['outcome']> = new Set(['error', 'tool_error']);

function answerOf(method: string | undefined, response: Envelope, bytes: number): OperationEnd {
  const { text, body, isError } = response;
  if (isError) {
    const place = memberOf(text, wholeOf(text), 'error');
    const code = Number(typeof place === 'object' ? memberText(text, place, 'code') : undefined);
    return { outcome: 'error', code: Number.isSafeInteger(code) ? code : undefined, bytes };
  }
  const isCall = method === 'tools/call';
  if (!mayHave(text, isCall)) return { outcome: 'ok', bytes };
  if (isCall && isToolError(response)) return { outcome: 'tool_error', bytes };
  if (memberText(text, body, 'resultType') === '"input_required"')
    return { outcome: 'input_required', bytes };
  return { outcome: 'ok', bytes };
}

/** Can the result have a member that tells its outcome? A look at the text costs less than a walk over its members. */
const mayHave = (text: string, isCall: boolean): boolean =>
  (isCall && text.includes('isError')) || text.includes('resultType') || text.includes('\\');
