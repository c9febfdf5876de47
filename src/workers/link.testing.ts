import { EventEmitter } from 'node:events';
import type { Peer } from './link.ts';

/** An end of a channel in memory; messages arrive as copies, in order. */
class End extends EventEmitter implements Peer {
  connected = true;
  other: End | undefined;

  send(message: unknown, socket: unknown, _options: undefined, done: (error: Error | null) => void): boolean {
    const copy: unknown = structuredClone(message);
    queueMicrotask(() => {
      this.other?.emit('message', copy, socket);
      done(null);
    });
    return true;
  }

  cut(): void {
    for (const end of [this, this.other]) {
      if (end === undefined) continue;
      end.connected = false;
      end.emit('disconnect');
    }
  }
}

/** Both ends of a channel in memory. */
export function channel(): readonly [End, End] {
  const [left, right] = [new End(), new End()];
  left.other = right;
  right.other = left;
  return [left, right];
}
