import type { RpcId } from '../json/envelope.ts';
import type { RetainedMemory } from '../limits/retainedMemory.ts';
import type { ItemNameSource } from '../items/itemVisibility.ts';

/** A message of a server that no stream could take yet. */
export interface Held {
  readonly text: string;
  /** Id under which the client knows it, when it is a request: someone waits for the answer. */
  readonly askedId: RpcId | undefined;
  /** The item that it names, for the rules of the caller who gets it. */
  readonly names?: ItemNameSource | undefined;
}

const maxMessages = 256;
const maxLength = 1_048_576;

/** Messages to the client while it has no stream open: bounded, the oldest go first. */
export class Outbox {
  private held: Held[] = [];
  private length = 0;
  private readonly memory: RetainedMemory;
  private readonly onDropped: (held: Held) => void;

  constructor(room: RetainedMemory, onDropped: (held: Held) => void) {
    this.memory = room;
    this.onDropped = onDropped;
  }

  get size(): number {
    return this.held.length;
  }

  hold(message: Held): void {
    this.held.push(message);
    this.grow(message.text.length);
    while (
      this.held.length > maxMessages ||
      (this.length > maxLength && this.held.length > 1) ||
      this.isOver
    ) {
      const oldest = this.held.shift()!;
      this.grow(-oldest.text.length);
      this.onDropped(oldest);
    }
  }

  private get isOver(): boolean {
    return this.held.length > 0 && this.memory.isOverLimit;
  }

  private grow(by: number): void {
    this.length += by;
    this.memory.add(by);
  }

  private counted(): void {
    this.grow(this.held.reduce((sum, one) => sum + one.text.length, 0) - this.length);
  }

  /** Takes every message out, or only the requests. */
  take(requestsOnly: boolean): readonly Held[] {
    if (this.held.length === 0) return this.held;
    const taken = requestsOnly ? this.held.filter((one) => one.askedId !== undefined) : this.held;
    this.held = requestsOnly ? this.held.filter((one) => one.askedId === undefined) : [];
    this.counted();
    return taken;
  }

  /** A held request is void: forget it. False where it is not held (any more). */
  drop(askedId: RpcId): boolean {
    const kept = this.held.filter((one) => one.askedId !== askedId);
    if (kept.length === this.held.length) return false;
    this.held = kept;
    this.counted();
    return true;
  }
}
