import { setTimeout as delay } from 'node:timers/promises';
import type { SocketHandle } from '../proxy/index.ts';
import {
  format,
  InheritanceReader,
  successorVariable,
  type FromPredecessor,
  type FromSuccessor,
  type Inheritance,
} from './inheritance.ts';

/** The time that a successor waits for its inheritance, in milliseconds. */
const inheritanceTimeoutMs = 30_000;

/** The program that ran before this one and still serves. */
export interface Predecessor {
  readonly inheritance: Inheritance;
  /**
   * Says that this program serves. Resolves (never rejects) when the other one has left the ports, or is gone.
   */
  ready(): Promise<void>;
  /** Says why this program does not serve. Never rejects. */
  failed(problem: string): Promise<void>;
  /** Resolves (never rejects) when the other one has ended. */
  readonly ended: Promise<void>;
}

/**
 * The program that this one was started by to take its place.
 * @param version of this program
 * @returns undefined where this program was started like any other
 * @throws Error when the previous process did not hand over its sockets in time
 */
export async function findPredecessor(version: string): Promise<Predecessor | undefined> {
  const marked = process.env[successorVariable] !== undefined;
  // The mark is for this process, not for those that it starts.
  delete process.env[successorVariable];
  if (!marked || process.send === undefined) return undefined;
  const parent = process.ppid;
  const reader = new InheritanceReader();
  const complete = Promise.withResolvers<Inheritance>();
  const released = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  process.on('message', (message, handle) => {
    const received = message as FromPredecessor;
    try {
      if (received.portcullis === 'yours') released.resolve();
      const inheritance = reader.take(received, handle as SocketHandle | undefined);
      if (inheritance !== undefined) complete.resolve(inheritance);
    } catch (error) {
      complete.reject(error);
    }
  });
  process.on('disconnect', () => {
    complete.reject(new Error('the previous process exited before it handed over the ports'));
    released.resolve();
    void parentGone(parent).then(ended.resolve);
  });
  const late = setTimeout(
    () => complete.reject(new Error('the previous process did not hand over its sockets in time')),
    inheritanceTimeoutMs,
  );
  try {
    await send({ portcullis: 'hello', format, version });
    const inheritance = await complete.promise;
    // It must not keep this process alive.
    process.channel?.unref();
    return {
      inheritance,
      ready: async () => {
        await send({ portcullis: 'ready' });
        await released.promise;
      },
      failed: (problem) => send({ portcullis: 'failed', problem }),
      ended: ended.promise,
    };
  } finally {
    clearTimeout(late);
  }
}

/** Resolves when a process is no longer the parent of this one, which is when nothing of it runs any more. */
async function parentGone(parent: number): Promise<void> {
  while (process.ppid === parent) await delay(50, undefined, { ref: false });
}

/** Never rejects: one that is gone need not know. */
function send(message: FromSuccessor): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined || !process.connected) resolve();
    else process.send(message, undefined, undefined, () => resolve());
  });
}
