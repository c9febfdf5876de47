import type { Post } from './post.ts';
import type { Traffic } from './traffic.ts';

/** The initialize of a session. */
export class FirstRequest {
  readonly post: Post;
  /** Resolves when its answer begins or will not come. */
  readonly answered: Promise<void>;

  constructor(traffic: Traffic, text: string, wireId: number) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.answered = promise;
    this.post = traffic.post(text, 'initialize', wireId, { begun: resolve, done: () => resolve() });
  }
}
