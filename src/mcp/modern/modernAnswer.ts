import { GatewayError } from '../../errors.ts';
import type { HttpReply } from '../../http/index.ts';
import type { ItemCall, ItemRefusal } from '../contract.ts';
import type { ItemName, ItemRules } from '../items/itemRules.ts';
import type { ItemNameSource } from '../items/itemVisibility.ts';
import { cut, readEnvelope, stringValue, memberOf, type Envelope, type RpcId } from '../json/envelope.ts';
import { splice } from '../json/scan.ts';
import type { Accepted } from '../messages/accept.ts';
import { errorResponse } from '../messages/rpcError.ts';
import type { CallAnswer, OperationNote } from '../session/callAnswer.ts';
import type { ResponseParts } from '../session/largeAnswer.ts';
import type { PostAudit } from '../session/postAudit.ts';
import { PostResponse } from '../session/postResponse.ts';
import type { Session } from '../session/session.ts';
import { createdTask, type TaskedCall } from './createdTask.ts';
import { inputRequired, modernChanges, modernResponse, modernResult, type Question } from './modernResult.ts';
import type { Parked, ParkedCalls, ParkedRequest } from './parkedCalls.ts';
import { lackingFor, missingCapability, type Lacking } from './missingCapability.ts';
import { askingMethods, lastingParams } from './questions.ts';
import type { RequestMeta } from '../messages/requestMeta.ts';

/** The levels of log messages, the least important first. */
const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

/** Questions that come within this time go to the client together, in milliseconds. */
const gatherMs = 20;

/** Progress and log messages that wait for the next round of a call, and the most characters of one. */
const maxHeld = 16;
const maxHeldLength = 16 * 1024;

/** A POST of a client: the request, or the same request with answers to questions. */
export interface Round {
  readonly reply: HttpReply;
  readonly accepted: Accepted;
  readonly request: Envelope;
  /** Records the POST; undefined where nothing is recorded. */
  readonly audit: PostAudit | undefined;
}

export interface ModernAnswerStart {
  readonly session: Session;
  readonly parked: ParkedCalls<ModernAnswer>;
  readonly principal: string | undefined;
  /** The holder of the budgets. */
  readonly holder: string;
  readonly backend: string;
  readonly meta: RequestMeta;
  readonly itemRules: ItemRules | undefined;
  /** Hears of a response before the client does. */
  readonly onResponse: (text: string) => void;
  /** Rules, views or names of the gateway shape what this caller sees. */
  readonly isPrivate: boolean;
  /** Set where the server must carry the call out as a task. */
  readonly tasked?: TaskedCall | undefined;
  /** The request needs its session no more. */
  readonly onOver: () => void;
}

interface Asked extends Question {
  readonly askedId: RpcId;
}

/**
 * The way back for one request of a client of the modern era. Where a server asks the client something, the POST ends
 * with the question, and the call waits for the next round, a POST of its own.
 */
export class ModernAnswer implements CallAnswer, Parked {
  readonly itemRules: ItemRules | undefined;
  private readonly start: ModernAnswerStart;
  private readonly method: string;
  private round: Round;
  /** The answer to the POST of this round; undefined while the call waits for the next one. */
  private post: PostResponse | undefined;
  /** Questions that the client has yet to answer, by the keys under which it sees them. */
  private readonly asked = new Map<string, Asked>();
  private isAskingSoon = false;
  /** The response came while the client was busy with a question. */
  private late: string | undefined;
  /** Progress and log messages that came meanwhile, the newest ones, for the next round. */
  private held: Envelope[] = [];
  private isOver = false;
  /** The client gets the response while it arrives. */
  private isInParts = false;
  /** Capabilities that the client has not declared, and that questions of the server need. */
  private lacking: Lacking | undefined;
  private item: ItemName | undefined;
  /** The task of the call, while the gateway waits for its result. */
  private taskId: string | undefined;

  constructor(start: ModernAnswerStart, round: Round) {
    this.start = start;
    this.itemRules = start.itemRules;
    this.method = round.request.method;
    this.round = round;
    this.begin(round);
  }

  get session(): Session {
    return this.start.session;
  }

  /** The client comes back with answers. @returns the reason where the rules refuse the item of the call by now */
  next(
    round: Round,
    answers: ReadonlyMap<string, string>,
    itemRules: ItemRules | undefined,
    call: ItemCall,
  ): ItemRefusal | undefined {
    const refused = this.item && itemRules?.refusalOf(this.item, call);
    if (refused !== undefined) {
      this.expired();
      return refused;
    }
    this.begin(round);
    for (const said of this.held.splice(0)) if (this.post?.takesProgress === true) this.pushNews(said);
    if (this.late !== undefined) {
      this.release();
      this.send(this.late);
      this.answerQuestions(answers);
      return undefined;
    }
    this.start.session.streams.expect(this);
    this.answerQuestions(answers);
    if (this.asked.size > 0) this.askSoon();
    return undefined;
  }

  /** Questions without an answer are asked again. */
  private answerQuestions(answers: ReadonlyMap<string, string>): void {
    for (const [key, { askedId }] of [...this.asked]) {
      const answer = answers.get(key);
      if (answer === undefined) continue;
      this.asked.delete(key);
      this.tell(askedId, `"result":${answer}`);
    }
  }

  private begin(round: Round): void {
    const { session } = this.start;
    this.round = round;
    const post = new PostResponse(round.reply, round.accepted, 1, false, session.streams, this.itemRules);
    this.post = post;
    round.audit?.follow(post);
    round.reply.onClose(() => {
      // Closing the stream takes the request back (2026-07-28, Streamable HTTP, "Cancellation").
      if (this.post === post && !this.isOver) this.giveUp('client left');
    });
  }

  // CallAnswer

  get gone(): boolean {
    return this.isOver || this.post?.gone === true;
  }

  /** A client that closes the stream of a request takes it back. */
  get closed(): boolean {
    return this.gone;
  }

  get takesEvents(): boolean {
    return !this.gone && !this.isInParts && askingMethods.has(this.method);
  }

  get takesProgress(): boolean {
    return this.post === undefined ? !this.isOver : this.post.takesProgress && !this.isOver;
  }

  note(request: Envelope, what: OperationNote): void {
    this.post?.note(request, what);
  }

  concerns(item: ItemName): void {
    this.item = item;
  }

  push(message: string, _names?: ItemNameSource, askedId?: RpcId): void {
    const said = readEnvelope(message);
    if (typeof said === 'string') return;
    if (askedId !== undefined) this.ask(said, askedId);
    else if (!this.takesProgress || !this.isWanted(said)) return;
    else if (this.post !== undefined) this.pushNews(said);
    else this.hold(said);
  }

  private pushNews(said: Envelope): void {
    if (said.method === 'notifications/progress') this.pushProgress(said);
    else this.post?.push(said.text);
  }

  private isWanted(said: Envelope): boolean {
    return said.method === 'notifications/progress' || this.isWantedLog(said);
  }

  /** Keeps a message until the client comes back; later news count more than earlier ones. */
  private hold(said: Envelope): void {
    if (said.text.length > maxHeldLength) return;
    this.held.push(said);
    if (this.held.length > maxHeld) this.held.shift();
  }

  /** Each round has a progress token of its own. */
  private pushProgress({ text, body }: Envelope): void {
    const { request } = this.round;
    const meta = memberOf(request.text, request.body, '_meta');
    const token = meta === 'ambiguous' ? undefined : memberOf(request.text, meta, 'progressToken');
    const place = memberOf(text, body, 'progressToken');
    if (typeof token !== 'object' || typeof place !== 'object') return;
    this.post?.push(splice(text, [{ ...place, replacement: cut(request.text, token) }]));
  }

  /** Only what concerns the request goes on its stream: log messages, if the client has asked for them. */
  private isWantedLog({ method, text, body }: Envelope): boolean {
    const { logLevel } = this.start.meta;
    if (method !== 'notifications/message' || logLevel === undefined) return false;
    const place = memberOf(text, body, 'level');
    const level = place === 'ambiguous' ? undefined : stringValue(text, place);
    return level !== undefined && levels.indexOf(level) >= levels.indexOf(logLevel);
  }

  private ask(said: Envelope, askedId: RpcId): void {
    const lacking = lackingFor(said, this.start.meta.capabilities);
    if (lacking !== undefined) {
      this.lacking = { ...this.lacking, ...lacking };
      const message = JSON.stringify(`the client cannot be asked ${said.method}`);
      this.tell(askedId, `"error":{"code":-32601,"message":${message}}`);
      return;
    }
    const params = said.body && cut(said.text, said.body);
    this.asked.set(`question-${String(askedId)}`, { askedId, method: said.method, params });
    if (this.post !== undefined) this.askSoon();
  }

  withdraw(askedId: RpcId): void {
    for (const [key, asked] of this.asked) if (asked.askedId === askedId) this.asked.delete(key);
  }

  failed(error: GatewayError): void {
    if (!this.isOver) this.post?.failed(error, this.idText);
  }

  respond(message: string): void {
    if (this.isOver) return;
    const { tasked } = this.start;
    if (tasked !== undefined && this.taskId === undefined) {
      this.taskId = createdTask(message);
      if (this.taskId !== undefined) {
        tasked.awaitResult(this.taskId);
        return;
      }
    }
    this.isOver = true;
    // The call did not wait for the question: its client comes back all the same.
    if (this.post === undefined) {
      this.late = message;
      return;
    }
    this.release();
    this.send(message);
  }

  relay(response: Envelope): boolean {
    const post = this.postOfResult;
    if (response.isError || post === undefined) return false;
    const text = modernResult(response, this.method, this.idText, this.start.isPrivate);
    if (text === undefined) return false;
    this.over();
    this.start.onResponse(text);
    post.respond(text);
    return true;
  }

  respondInParts(kept: string): ResponseParts | undefined {
    const { method, idText, postOfResult: post } = this;
    const { isPrivate } = this.start;
    const changes = modernChanges(method, idText, isPrivate);
    if (post === undefined || changes === undefined) return undefined;
    const textOf = (refusal: string): string => modernResponse(refusal, method, idText, isPrivate).text;
    const parts = post.respondInParts(textOf(kept));
    if (parts === undefined) return undefined;
    this.isInParts = true;
    return {
      changes,
      write: (bytes, release) => parts.write(bytes, release),
      end: () => {
        this.over();
        parts.end();
      },
      breakOff: (refusal, why) => {
        this.over();
        parts.breakOff(textOf(refusal), why);
      },
    };
  }

  refuse(error: GatewayError): boolean {
    if (this.isOver || this.post?.refuse(error, this.idText) !== true) return false;
    this.over();
    return true;
  }

  skip(refusal: string): void {
    if (this.isOver) return;
    this.over();
    this.post?.skip(refusal);
  }

  tick(now: number): void {
    this.post?.tick(now);
  }

  // Parked

  expired(): void {
    this.giveUp('the client did not answer');
  }

  /** The answer to the POST that gets a result as the server sent it; undefined where more has to be done. */
  private get postOfResult(): PostResponse | undefined {
    return this.isOver || this.lacking !== undefined || this.start.tasked !== undefined
      ? undefined
      : this.post;
  }

  /** The response is on its way, and the request needs its session no more. */
  private over(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.release();
  }

  private get idText(): string {
    return cut(this.round.request.text, this.round.request.idSpan);
  }

  private send(message: string): void {
    const known = missingCapability(message, this.lacking) ?? message;
    const { text, status } = modernResponse(known, this.method, this.idText, this.start.isPrivate);
    this.start.onResponse(text);
    this.post?.respond(text, status);
  }

  /** Questions that come together go together. */
  private askSoon(): void {
    if (this.isAskingSoon) return;
    this.isAskingSoon = true;
    setTimeout(() => {
      this.isAskingSoon = false;
      if (!this.gone && !this.isInParts && this.post !== undefined && this.asked.size > 0)
        this.askNow(this.post);
    }, gatherMs);
  }

  private askNow(post: PostResponse): void {
    const { parked, holder } = this.start;
    const state = parked.park(this, requestOf(this.start, this.round.request), holder);
    if (state === undefined) {
      const message = 'too many calls of this caller wait for answers';
      this.refuseQuestions(message);
      return;
    }
    this.post = undefined;
    post.respond(inputRequired(this.idText, this.asked, state));
  }

  private giveUp(reason: string): void {
    const { session } = this.start;
    this.refuseQuestions(reason);
    const task = this.isOver ? undefined : this.taskId;
    session.cancelCalls(this, reason);
    if (task !== undefined) this.start.tasked?.cancel(task);
    const isReleased = this.isOver && this.late === undefined;
    // No call that was sent has told of it.
    if (!this.isOver) this.post?.skip(errorResponse(new GatewayError('mcp_cancelled'), this.idText));
    this.isOver = true;
    if (!isReleased) this.release();
  }

  private refuseQuestions(why: string): void {
    for (const { askedId } of this.asked.values()) this.start.session.refuse(askedId, why);
    this.asked.clear();
  }

  private release(): void {
    this.start.parked.drop(this);
    this.start.onOver();
  }

  /** Answers a server, in the name of the client. */
  private tell(askedId: RpcId, outcome: string): void {
    const message = readEnvelope(`{"jsonrpc":"2.0","id":${JSON.stringify(askedId)},${outcome}}`);
    if (typeof message === 'string') {
      this.start.session.refuse(askedId, 'the answer of the client cannot be read');
      return;
    }
    this.start.session.respond(message, this.itemRules);
  }
}

/** The part of a request that all its rounds share. */
export const requestOf = (
  { principal, backend }: Pick<ModernAnswerStart, 'principal' | 'backend'>,
  request: Envelope,
): ParkedRequest => ({ principal, backend, method: request.method, params: lastingParams(request) });

/** The refusal of a state that is not, or no more, good for the request. */
export const invalidState = (idText: string): string =>
  errorResponse(
    new GatewayError('mcp_invalid_params', {
      message: 'invalid params: requestState is unknown, used, expired, or of another request',
    }),
    idText,
  );
