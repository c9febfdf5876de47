import { GatewayError } from '../../../errors.ts';
import type { Envelope } from '../../json/envelope.ts';
import { CallTimeouts, type CallLimit } from '../../limits/callTimeouts.ts';
import type { RetainedMemory } from '../../limits/retainedMemory.ts';
import { lateError } from '../../messages/rpcError.ts';
import type { Waiter } from '../kind/target.ts';
import type { BridgedCall } from './bridgedCall.ts';

/** Calls of one session that may wait for its client at a time. */
const maxHeld = 128;

/**
 * Calls that no server works on: they wait for answers of the client, or for a moment. Their time goes on as it does
 * while a server of the legacy era waits for the client.
 */
export class HeldCalls {
  private readonly calls = new Map<number, BridgedCall>();
  /** Characters that are kept for each of them. */
  private readonly lengths = new Map<BridgedCall, number>();
  /** Questions without an answer, by the ids that the client's session knows. */
  private readonly questions = new Map<number, { readonly call: BridgedCall; readonly key: string }>();
  private readonly target: string;
  private readonly keep: RetainedMemory;
  private readonly clocks: CallTimeouts;
  private last = 0;

  /** @param mostMs the time that a call may take however much progress it makes, in milliseconds */
  constructor(target: string, keep: RetainedMemory, mostMs: () => number) {
    this.target = target;
    this.keep = keep;
    this.clocks = new CallTimeouts(mostMs, (wireId, limit) => this.late(wireId, limit));
  }

  get size(): number {
    return this.calls.size;
  }

  /** @returns false where there is no room */
  add(call: BridgedCall): boolean {
    const { limit } = call.out;
    if (this.calls.size >= maxHeld || !this.mayKeep(call, call.length)) return false;
    this.calls.set(call.wireId, call);
    if (limit !== undefined) this.clocks.start(call.wireId, limit);
    return true;
  }

  /** Counts what is kept for a call. @returns false where there is no room for that much more */
  mayKeep(call: BridgedCall, length: number): boolean {
    this.keep.add(length);
    if (this.keep.isOverLimit) {
      this.keep.remove(length);
      return false;
    }
    this.lengths.set(call, (this.lengths.get(call) ?? 0) + length);
    return true;
  }

  remove(call: BridgedCall): void {
    if (!this.calls.delete(call.wireId)) return;
    this.keep.remove(this.lengths.get(call) ?? 0);
    this.lengths.delete(call);
    this.clocks.settled(call.wireId);
  }

  get(wireId: number): BridgedCall | undefined {
    return this.calls.get(wireId);
  }

  *all(): Iterable<[number, Waiter]> {
    for (const [wireId, { client }] of this.calls) yield [wireId, client];
  }

  hold(waits: boolean): void {
    this.clocks.hold(waits);
  }

  /** A question to the client. @returns its id */
  ask(call: BridgedCall, key: string): number {
    this.questions.set(++this.last, { call, key });
    return this.last;
  }

  /** The client's answer; one to a question that is void is ignored. */
  answer(response: Envelope): void {
    const question = this.questions.get(Number(response.id));
    if (question === undefined) return;
    this.questions.delete(Number(response.id));
    question.call.answer(question.key, response);
  }

  /** Forgets the questions of a call. @returns their ids */
  withdraw(call: BridgedCall): readonly number[] {
    const ids = [...this.questions].filter(([, one]) => one.call === call).map(([id]) => id);
    for (const id of ids) this.questions.delete(id);
    return ids;
  }

  /** Gives up one call whose client has left; false where there is none. */
  dropAbandoned(): boolean {
    for (const call of this.calls.values())
      if (call.abandoned) {
        this.drop(call);
        call.client.failed(new GatewayError('mcp_cancelled', { message: 'the client left' }));
        return true;
      }
    return false;
  }

  /** Stops a call; the caller tells its client. */
  drop(call: BridgedCall): void {
    this.remove(call);
    call.drop();
  }

  /** Fails all of them. */
  failAll(error: GatewayError): void {
    for (const call of [...this.calls.values()]) {
      this.drop(call);
      call.client.failed(error);
    }
  }

  close(error: GatewayError): void {
    this.failAll(error);
    this.clocks.clear();
  }

  private late(wireId: number, limit: CallLimit): void {
    const call = this.calls.get(wireId);
    if (call === undefined) return;
    this.drop(call);
    call.client.failed(lateError(this.target, limit));
  }
}
