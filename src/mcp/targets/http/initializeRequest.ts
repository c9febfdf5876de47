import type { Post } from './post.ts';
import type { HttpTransport } from './httpTransport.ts';

/** The first request of a session. */
export class InitializeRequest {
  readonly post: Post;
  /** Resolves when its answer begins or will not come. */
  readonly answered: Promise<void>;

  constructor(transport: HttpTransport, text: string, method: string, wireId: number) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.answered = promise;
    this.post = transport.post(text, method, wireId, { begun: resolve, done: () => resolve() });
  }
}
