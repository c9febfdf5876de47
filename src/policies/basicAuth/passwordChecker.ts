import { Worker } from 'node:worker_threads';
import { GatewayError } from '../../errors.ts';
import type { Answer, Question } from './worker.ts';

/** Passwords that may wait; beyond, callers are sent away: whoever guesses must not make the others wait for ever. */
const maxWaiting = 128;

/** The compiled program has the worker beside it as JavaScript. */
const program = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url);

interface Waiting {
  readonly resolve: (right: boolean) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Checks passwords on a thread of its own, since one check may take a tenth of a second in which no request would be
 * served. All policies share it; it starts with the first password and ends with the last policy.
 */
class PasswordChecker {
  private readonly waiting = new Map<number, Waiting>();
  private worker: Worker | undefined;
  private users = 0;
  private nextId = 0;

  open(): void {
    this.users++;
  }

  close(): void {
    this.users--;
    if (this.users > 0) return;
    this.drop(new Error('closed'));
  }

  /** @throws GatewayError overloaded where too many wait already */
  check(password: string, hash: string): Promise<boolean> {
    if (this.waiting.size >= maxWaiting)
      throw new GatewayError('overloaded', { detail: 'basicAuth: too many passwords wait to be checked' });
    const worker = (this.worker ??= this.start());
    // Only work in hand keeps the process alive.
    if (this.waiting.size === 0) worker.ref();
    return new Promise((resolve, reject) => {
      const question: Question = { id: this.nextId++, password, hash };
      this.waiting.set(question.id, { resolve, reject });
      worker.postMessage(question);
    });
  }

  private start(): Worker {
    const worker = new Worker(program, { name: 'passwords' });
    worker.on('message', ({ id, right }: Answer) => {
      this.waiting.get(id)?.resolve(right);
      this.waiting.delete(id);
      if (this.waiting.size === 0) worker.unref();
    });
    // A worker that fails takes its questions with it; the next question starts another.
    worker.on('error', (error: unknown) => {
      if (this.worker === worker) this.drop(error instanceof Error ? error : new Error(String(error)));
    });
    return worker;
  }

  private drop(reason: Error): void {
    const { worker } = this;
    this.worker = undefined;
    for (const { reject } of this.waiting.values())
      reject(new GatewayError('policy_failed', { detail: `basicAuth: ${reason.message}`, cause: reason }));
    this.waiting.clear();
    void worker?.terminate();
  }
}

export const passwordChecker = new PasswordChecker();
