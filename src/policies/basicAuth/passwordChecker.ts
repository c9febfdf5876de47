import { Worker } from 'node:worker_threads';
import { GatewayError } from '../../errors.ts';
import { errorOf } from '../../errorText.ts';
import { Attempts } from './attempts.ts';
import { FairQueue } from '../fairQueue.ts';
import type { Answer, Question } from './passwordWorker.ts';

/** Passwords that may wait in all, and of one client; a client beyond gets 503, and delays only itself. */
const limits = { total: 128, perClient: 32 };

/** The compiled program has the worker beside it as JavaScript. */
const program = new URL(
  import.meta.url.endsWith('.ts') ? './passwordWorker.ts' : './passwordWorker.js',
  import.meta.url,
);

interface Check {
  readonly question: Question;
  readonly resolve: (right: boolean) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Checks passwords on a thread of its own, since one check may take a tenth of a second in which no request would be
 * served. All policies share it; it starts with the first password and ends with the last policy. The thread gets one
 * password at a time, so that clients have turns.
 */
class PasswordChecker {
  /** Outlives a reload, as the checker does. */
  readonly attempts = new Attempts(() => performance.now());
  private readonly waiting = new FairQueue<Check>(limits);
  private worker: Worker | undefined;
  private current: Check | undefined;
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

  /**
   * @param client the network that the request came from; the checks of each client wait in a line of their own
   * @returns a promise that fails with GatewayError overloaded where too many checks wait
   */
  check(password: string, hash: string, client: string): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const check: Check = { question: { id: this.nextId++, password, hash }, resolve, reject };
      this.waiting
        .add(client, check)
        ?.reject(
          new GatewayError('overloaded', { detail: 'basicAuth: too many passwords wait to be checked' }),
        );
      this.advance();
    });
  }

  private advance(): void {
    if (this.current !== undefined) return;
    this.current = this.waiting.next();
    if (this.current === undefined) {
      // Only work in hand keeps the process alive.
      this.worker?.unref();
      return;
    }
    const worker = (this.worker ??= this.start());
    worker.ref();
    worker.postMessage(this.current.question);
  }

  private start(): Worker {
    const worker = new Worker(program, { name: 'passwords' });
    worker.on('message', ({ id, right }: Answer) => {
      if (this.current?.question.id !== id) return;
      this.current.resolve(right);
      this.current = undefined;
      this.advance();
    });
    // A worker that fails takes its questions with it; the next question starts another.
    worker.on('error', (error: unknown) => {
      if (this.worker === worker) this.drop(errorOf(error));
    });
    return worker;
  }

  private drop(reason: Error): void {
    const { worker } = this;
    this.worker = undefined;
    const error = new GatewayError('policy_failed', {
      detail: `basicAuth: ${reason.message}`,
      cause: reason,
    });
    for (let check = this.current; check !== undefined; check = this.waiting.next()) check.reject(error);
    this.current = undefined;
    void worker?.terminate();
  }
}

export const passwordChecker = new PasswordChecker();
