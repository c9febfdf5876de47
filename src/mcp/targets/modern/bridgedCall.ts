import type { GatewayError } from '../../../errors.ts';
import type { HeaderLine } from '../../../http/index.ts';
import { cut, type Envelope } from '../../json/envelope.ts';
import { errorCodeOf, errorTextOf } from '../../json/errorMember.ts';
import { ownError, ownResult } from '../../json/ownMessage.ts';
import { modernErrors } from '../../messages/eras.ts';
import type { Outgoing } from '../../messages/outgoing.ts';
import type { Waiter } from '../kind/target.ts';
import type { ClientFacts } from './clientFacts.ts';
import { readQuestions, type InputQuestion } from './inputQuestions.ts';
import { legacyError, readResult, type InputRequired } from './legacyResult.ts';
import { modernEdits } from '../../messages/eraEdits.ts';

/** The functions of its connection that a call needs. */
export interface BridgeHost {
  /** The target, for messages. */
  readonly name: string;
  readonly client: ClientFacts;
  /** Sends a request to the server. @returns its id on the wire, 0 where it failed at once */
  post(out: Outgoing, waiter: Waiter): number;
  /** Headers that repeat members of a request, where the server is one over HTTP. */
  headersOf(out: Outgoing): readonly HeaderLine[];
  /** The list of tools has passed: learns from it, and answers what the client sees of it. */
  learn(response: Envelope): Envelope;
  /** Lists the tools, to learn their headers. Runs `then` once, also where it failed; undefined over stdio. */
  readonly relearn: ((then: () => void) => void) | undefined;
  /** The server does not work on the call for now. */
  park(call: BridgedCall): boolean;
  /** Is there room for so many more characters of a parked call? */
  mayKeep(call: BridgedCall, length: number): boolean;
  unpark(call: BridgedCall): void;
  /** Asks the client. */
  ask(call: BridgedCall, question: InputQuestion): void;
  /** Takes back every question of the call. */
  withdraw(call: BridgedCall): void;
  /** For the log: the server broke a rule. */
  trouble(what: string): void;
}

/** Rounds of questions of one call, as clients of the SDK allow them. */
const maxRounds = 10;
/** The wait before a round without questions, in milliseconds: the server sheds load. */
const pauseMs = 250;

/** Requests that a server may answer with questions. */
const asking: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);

/** A request of a client of the legacy era on its way through a server of the modern era. */
export class BridgedCall implements Waiter {
  /** The id on the wire of the newest request. */
  wireId = 0;
  /** Its response is awaited by this. */
  readonly client: Waiter;
  out: Outgoing;
  private readonly host: BridgeHost;
  /** Members of `_meta` of each request. */
  private readonly meta: string;
  private rounds = 0;
  private listed = false;
  private over = false;
  /** The exact `requestState` of the last round, as JSON text. */
  private state: string | undefined;
  /** Questions of the round without an answer. */
  private open = 0;
  /** The answers of the round, as JSON texts by the server's names for them. */
  private answers = new Map<string, string>();
  private timer: NodeJS.Timeout | undefined;

  constructor(host: BridgeHost, out: Outgoing, meta: string, client: Waiter) {
    this.host = host;
    this.out = out;
    this.meta = meta;
    this.client = client;
  }

  get abandoned(): boolean {
    return this.client.abandoned === true;
  }

  /** Characters that are kept of it while it waits. */
  get length(): number {
    return this.out.envelope.text.length + (this.state?.length ?? 0);
  }

  /** Sends it for the first time. @returns its id on the wire, 0 where it failed at once */
  begin(): number {
    return this.post();
  }

  private post(round?: string): number {
    const { host, out } = this;
    const edits = modernEdits(out.envelope, this.meta, round);
    if (edits === undefined) {
      this.client.answered(ownError(-32602, 'invalid params: a member is repeated, or _meta is no object'));
      return 0;
    }
    const headers = [...host.headersOf(out), ...(out.headers ?? [])];
    this.wireId = host.post({ ...out, edits, headers }, this);
    return this.wireId;
  }

  // Waiter

  answered(response: Envelope): void {
    if (response.isError) {
      this.refused(response);
      return;
    }
    const result = readResult(response);
    if (result.type === 'unknown') this.broken(`answered with a result ${result.what}`);
    else if (result.type === 'input_required') this.ask(response.text, result);
    else this.end(this.method === 'tools/list' ? this.host.learn(result.response) : result.response);
  }

  failed(error: GatewayError): void {
    this.over = true;
    this.client.failed(error);
  }

  /** The client has left, or the time is over. */
  drop(): void {
    this.over = true;
    clearTimeout(this.timer);
    this.host.withdraw(this);
  }

  private get method(): string {
    return this.out.envelope.method;
  }

  private end(response: Envelope): void {
    this.over = true;
    this.client.answered(response);
  }

  private refused(response: Envelope): void {
    const { relearn } = this.host;
    const mismatch = errorCodeOf(response) === modernErrors.headerMismatch;
    if (!mismatch || relearn === undefined || this.listed || this.method !== 'tools/call') {
      this.end(legacyError(response));
      return;
    }
    // 2026-07-28, Client Behavior: the tool may have got annotations that no list has shown.
    this.listed = true;
    if (this.park())
      relearn(() => {
        if (!this.over) this.again();
      });
  }

  /** The questions of a round. */
  private ask(text: string, { requests, state }: InputRequired): void {
    if (!asking.has(this.method)) {
      this.broken(`asked the client in the answer to ${this.method}`);
      return;
    }
    if (++this.rounds > maxRounds) {
      this.broken(`still asked the client after ${maxRounds} rounds`);
      return;
    }
    if (state !== undefined && text[state.start] !== '"') {
      this.broken('asked the client with a requestState that is no string');
      return;
    }
    if (requests === undefined && state === undefined) {
      this.broken('asked the client for nothing');
      return;
    }
    const questions = requests === undefined ? [] : readQuestions(text, requests, this.host.client);
    if (typeof questions === 'string') {
      this.broken(questions);
      return;
    }
    this.state = state && cut(text, state);
    this.answers = new Map();
    this.open = questions.length;
    if (!this.park()) return;
    if (questions.length === 0) this.timer = setTimeout(() => this.again(), pauseMs).unref();
    // A question may be answered at once, by a session that has no client to ask.
    for (const question of questions) if (!this.over) this.host.ask(this, question);
  }

  /** @returns false where it was failed instead */
  private park(): boolean {
    if (this.host.park(this)) return true;
    this.broken('has too many calls that wait for the client');
    return false;
  }

  /** The client's answer to a question of this call. */
  answer(key: string, response: Envelope): void {
    if (this.over) return;
    const { text, body } = response;
    if (response.isError || body === undefined)
      this.giveUp(`asked the client, which answered with an error: ${errorTextOf(response)}`);
    else if (!this.host.mayKeep(this, body.end - body.start))
      this.giveUp('asked the client, which answered with more than the gateway keeps');
    else {
      this.answers.set(key, cut(text, body));
      if (--this.open > 0) return;
      // The client may have refreshed its token before it answered: the newest caller is the one that answers.
      this.out = { ...this.out, reach: undefined, environment: undefined };
      this.again();
    }
  }

  /** Ends a call that waits for answers. */
  private giveUp(what: string): void {
    this.host.withdraw(this);
    this.host.unpark(this);
    this.broken(what);
  }

  /** The next round: the same request with the answers, and with the state as the server wrote it. */
  private again(): void {
    this.host.unpark(this);
    const responses = [...this.answers].map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',');
    const members = [
      ...(this.answers.size === 0 ? [] : [`"inputResponses":{${responses}}`]),
      ...(this.state === undefined ? [] : [`"requestState":${this.state}`]),
    ];
    this.post(members.join(','));
  }

  /** The call cannot go on: the model reads the reason in the result of a tool, as with servers of the legacy era. */
  private broken(what: string): void {
    const message = `target "${this.host.name}" ${what}`;
    this.host.trouble(what);
    if (this.method !== 'tools/call') this.end(ownError(-32603, message));
    else this.end(ownResult(JSON.stringify({ content: [{ type: 'text', text: message }], isError: true })));
  }
}
