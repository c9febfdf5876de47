import type { RpcId } from './json/envelope.ts';

/** A message of a server that no stream could take yet. */
export interface Held {
  readonly text: string;
  /** Id under which the client knows it, when it is a request: someone waits for the answer. */
  readonly askedId: RpcId | undefined;
}

const maxMessages = 256;
const maxLength = 1_048_576;

/** Messages to the client while it has no stream open: bounded, the oldest go first. */
export class Outbox {
  private held: Held[] = [];
  private length = 0;
  private readonly onDropped: (held: Held) => void;

  constructor(onDropped: (held: Held) => void) {
    this.onDropped = onDropped;
  }

  get size(): number {
    return this.held.length;
  }

  hold(message: Held): void {
    this.held.push(message);
    this.length += message.text.length;
    while (this.held.length > maxMessages || (this.length > maxLength && this.held.length > 1)) {
      const oldest = this.held.shift()!;
      this.length -= oldest.text.length;
      this.onDropped(oldest);
    }
  }

  /** Takes every message out, or only the requests. */
  take(requestsOnly: boolean): readonly Held[] {
    if (this.held.length === 0) return this.held;
    const taken = requestsOnly ? this.held.filter((one) => one.askedId !== undefined) : this.held;
    this.held = requestsOnly ? this.held.filter((one) => one.askedId === undefined) : [];
    this.length = this.held.reduce((sum, one) => sum + one.text.length, 0);
    return taken;
  }

  /** A held request is void: forget it. False where it is not held (any more). */
  drop(askedId: RpcId): boolean {
    const kept = this.held.filter((one) => one.askedId !== askedId);
    if (kept.length === this.held.length) return false;
    this.held = kept;
    this.length = kept.reduce((sum, one) => sum + one.text.length, 0);
    return true;
  }
}
