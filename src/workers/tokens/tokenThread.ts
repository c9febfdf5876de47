import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Logger } from '../../telemetry/index.ts';

/** The compiled program has it beside it as JavaScript. */
const program = new URL(
  import.meta.url.endsWith('.ts') ? './tokenProgram.ts' : './tokenProgram.js',
  import.meta.url,
);

export interface TokenThreadOptions {
  /** The path of its socket. */
  readonly path: string;
  /** The secret that permits drawing. */
  readonly secret: string;
  readonly log: Logger;
}

/** The thread that keeps the token buckets of all workers; it is there from the moment somebody needs it. */
export class TokenThread {
  private readonly options: TokenThreadOptions;
  private thread: Worker | undefined;
  private listening: Promise<unknown> | undefined;
  private closed = false;

  constructor(options: TokenThreadOptions) {
    this.options = options;
  }

  /**
   * Resolves with the path of its socket when it listens.
   * @throws Error when it cannot be started
   */
  async where(): Promise<string> {
    const listening = (this.listening ??= this.start());
    try {
      await listening;
    } catch (error) {
      // The next question makes another try.
      if (this.listening === listening) this.listening = undefined;
      throw error;
    }
    return this.options.path;
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.thread?.terminate();
  }

  private async start(): Promise<void> {
    const { path, secret, log } = this.options;
    if (this.closed) throw new Error('the gateway is shutting down');
    const thread = new Worker(program, { workerData: { path, secret }, name: 'tokens' });
    this.thread = thread;
    thread.unref();
    thread.on('error', (error: Error) => log.error('Rate limit counter failed', { problem: error.message }));
    thread.on('exit', () => {
      // The next question starts another thread, with full buckets.
      this.listening = undefined;
      this.thread = undefined;
    });
    const ended = new AbortController();
    thread.once('exit', () => ended.abort());
    await once(thread, 'message', { signal: ended.signal });
  }
}
