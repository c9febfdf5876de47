import type { HeaderLine, Reply, ReplyStream } from '../../http/index.ts';
import { gatherBody } from './gatherBody.ts';
import { holdBody } from './heldBody.ts';
import { LiveExchange } from './liveExchange.ts';
import { sendReply } from './reply.ts';
import { openStream } from './replyStream.ts';
import { sendError } from './sendError.ts';

/** An exchange with its ways to read the request body and to answer: every exchange of a connection is one. */
export class ServedExchange extends LiveExchange {
  override readBody(limitBytes: number): Promise<Buffer> {
    return gatherBody(this, limitBytes);
  }

  override holdBody(limitBytes: number): Promise<Buffer> {
    return holdBody(this, limitBytes);
  }

  override send(reply: Reply): void {
    if (this.started || this.closed) return;
    sendReply(this, reply);
  }

  override open(status: number, headers: readonly HeaderLine[]): ReplyStream {
    this.isStreamed = true;
    return openStream(this, status, headers);
  }

  override fail(error: unknown): void {
    sendError(this, error);
  }
}
