import { asGatewayError, GatewayError } from '../../errors.ts';
import type { HttpRequest } from '../../http/index.ts';
import { respondError, type CallAnswer } from './callAnswer.ts';
import { cut, withId, type Envelope, type RpcId } from '../json/envelope.ts';
import type { MemberView } from '../json/responseScan.ts';
import { splice } from '../json/scan.ts';
import type { Logger } from '../../telemetry/index.ts';
import { brokenOff, type ResponseParts } from './largeAnswer.ts';
import type { CallStats, Outcome } from './mcpMetrics.ts';
import type { Tally } from '../limits/budget.ts';
import { errorResponse } from '../messages/rpcError.ts';
import type { LargeAnswer, Waiter } from '../targets/kind/target.ts';
import { inTurn, unfiltered, type ResponseFilter } from '../items/responseFilter.ts';

/** Hears of the end of a call. */
export interface CallEnd extends Pick<CallStats, 'ended'> {
  /** Sees the response that ends the call, if it came whole. */
  readonly answered?: (response: Envelope) => void;
}

export interface CallStart {
  readonly answer: CallAnswer;
  readonly request: Envelope;
  readonly stats: CallEnd;
  /** The HTTP request, which learns how long the target took. */
  readonly http?: Pick<HttpRequest, 'targetMs'>;
  /** The progress token as the client wrote it. */
  readonly tokenText: string | undefined;
  /** The caller's view of the response; undefined if it is forwarded as it came. */
  readonly filter: ResponseFilter | undefined;
  /** Asks for another page of the list, by its cursor as the server wrote it. */
  readonly ask?: ((cursor: string, call: Call) => void) | undefined;
  /** Checks a response with a result before the client gets it; it gets the text of its response. Rejects where the response cannot be used. */
  readonly check?: ((response: string) => Promise<string>) | undefined;
  /** Counts the call for its caller. */
  readonly tally: Tally;
  /** Hears that the client uses its session, and lets the client take back a call whose result is being checked. */
  readonly session: {
    readonly unsent: Set<{ readonly id: RpcId; cancel(): void }>;
    readonly log: Logger;
    touch(): void;
  };
}

const everyMember: MemberView = { watched: new Set(), filterMember: (_name, value) => value };

/** A client gets one page of a list for so many of the server's at most. */
const maxPages = 64;

/** A request of a client on its way through a target. */
export class Call implements Waiter {
  readonly answer: CallAnswer;
  readonly id: RpcId;
  /** The id as the client wrote it: `1` and `1.0` and `"1"` are three. */
  readonly idText: string;
  readonly method: string;
  readonly tokenText: string | undefined;
  private readonly stats: CallEnd;
  private readonly http: CallStart['http'];
  private readonly filter: ResponseFilter | undefined;
  private readonly ask: CallStart['ask'];
  private readonly check: CallStart['check'];
  /** Pages of a list that were hidden whole. */
  private hiddenPages = 0;
  private readonly since = performance.now();
  private readonly session: CallStart['session'];
  private tally: Tally | undefined;
  private overListener: (() => void) | undefined;
  /** The response while it arrives in parts. */
  private parts: ResponseParts | undefined;

  constructor(start: CallStart) {
    const { text, idSpan, id, method } = start.request;
    this.answer = start.answer;
    this.id = id!;
    this.idText = cut(text, idSpan);
    this.method = method;
    this.tokenText = start.tokenText;
    this.stats = start.stats;
    this.http = start.http;
    this.filter = start.filter;
    this.ask = start.ask;
    this.check = start.check;
    this.tally = start.tally;
    this.session = start.session;
  }

  get abandoned(): boolean {
    return this.answer.gone;
  }

  answered(response: Envelope): void {
    const { text, idSpan, isError } = response;
    const shown = this.filter === undefined || isError ? unfiltered : this.filter.filter(response);
    if (!(shown instanceof GatewayError) && shown.next !== undefined && this.goesOn(shown.next)) return;
    const { answer, check, idText } = this;
    this.stats.answered?.(response);
    this.settled(isError ? 'error' : 'ok');
    const whole = ({ edits }: Exclude<typeof shown, GatewayError>): string =>
      edits.length > 0
        ? splice(text, [...edits, { ...idSpan, replacement: idText }])
        : withId(response, idText);
    if (check !== undefined && !isError && !(shown instanceof GatewayError)) {
      this.checkFirst(check, whole(shown));
      return;
    }
    this.over();
    if (shown instanceof GatewayError) respondError(answer, shown, idText);
    else if (shown.edits.length > 0 || answer.relay?.(response, idText) !== true)
      answer.respond(whole(shown));
  }

  /** The call stays under way, and counts, until its result is checked. The client can take it back meanwhile. */
  private checkFirst(check: NonNullable<CallStart['check']>, text: string): void {
    const { id, answer, idText, session } = this;
    const waiting = {
      id,
      cancel: () => {
        session.unsent.delete(waiting);
        answer.skip(errorResponse(new GatewayError('mcp_cancelled'), idText));
      },
    };
    session.unsent.add(waiting);
    const settle = (give: () => void): void => {
      const isWanted = session.unsent.delete(waiting);
      this.over();
      if (isWanted) give();
    };
    check(text).then(
      (checked) => settle(() => answer.respond(checked)),
      (error: unknown) => settle(() => respondError(answer, asGatewayError(error), idText)),
    );
  }

  beginLarge(): LargeAnswer | undefined {
    const { filter } = this;
    // A check needs the result whole.
    if (this.check !== undefined) return undefined;
    const view = filter === undefined ? everyMember : filter.ofMembers;
    if (view === undefined) return undefined;
    const parts = this.answer.respondInParts?.(errorResponse(brokenOff(), this.idText));
    if (parts === undefined) return undefined;
    this.parts = parts;
    const { changes } = parts;
    return {
      view: changes === undefined ? view : inTurn([view, changes.view]),
      idText: changes?.idText ?? this.idText,
      addedMembers: (seen) => changes?.addedMembers(seen) ?? '',
      write: (bytes, release) => parts.write(bytes, release),
      end: () => {
        this.ended('ok');
        parts.end();
      },
    };
  }

  /** Clients take an empty page for the end of the list: where nothing is left of one, the next one takes its place. */
  private goesOn(cursor: string): boolean {
    if (this.ask === undefined || this.answer.gone || ++this.hiddenPages >= maxPages) return false;
    this.ask(cursor, this);
    return true;
  }

  failed(error: GatewayError): void {
    this.ended('failed');
    if (this.breakOff(error, 'error')) return;
    respondError(this.answer, error, this.idText);
  }

  /** The client takes its request back; a response that still comes is dropped. */
  cancelled(error: GatewayError): void {
    this.ended('cancelled');
    if (!this.breakOff(error, 'cancelled')) this.answer.skip(errorResponse(error, this.idText));
  }

  /** @returns false where the client has got nothing of a response yet */
  private breakOff(error: GatewayError, why: 'cancelled' | 'error'): boolean {
    if (this.parts === undefined) return false;
    const { code, message, detail } = error;
    this.session.log.warn('Response broke off: its client has got a part of it', {
      code,
      reason: message,
      detail,
    });
    this.parts.breakOff(errorResponse(error, this.idText), why);
    return true;
  }

  private ended(outcome: Outcome): void {
    this.over();
    this.settled(outcome);
  }

  /** The target is done with the call. */
  private settled(outcome: Outcome): void {
    const ms = performance.now() - this.since;
    this.stats.ended(outcome, ms);
    if (this.http !== undefined) this.http.targetMs = ms;
  }

  /** Runs the listener when the call is under way no more; at once if that was before. At most one. */
  whenOver(listener: () => void): void {
    if (this.tally === undefined) listener();
    else this.overListener = listener;
  }

  /** The call is under way no more. */
  private over(): void {
    this.tally?.leave();
    this.tally = undefined;
    this.overListener?.();
    this.overListener = undefined;
    this.session.touch();
  }
}
