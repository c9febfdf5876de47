import type { ServerStream } from '../../http/index.ts';
import type { TunnelEnd } from '../connections/tunnel.ts';

const EMPTY = Buffer.alloc(0);

/** A stream of HTTP/2 as the end of a tunnel. */
export class Http2Tunnel implements TunnelEnd {
  private readonly stream: ServerStream;

  constructor(stream: ServerStream) {
    this.stream = stream;
  }

  write(data: string | Buffer, how?: 'latin1' | (() => void)): boolean {
    const bytes = typeof data === 'string' ? Buffer.from(data, 'latin1') : data;
    return this.stream.send(bytes, 0, bytes.length, false, typeof how === 'function' ? how : undefined);
  }

  pause(): void {
    this.stream.inbound.pause();
  }

  resume(): void {
    this.stream.inbound.resume();
  }

  end(): void {
    this.stream.send(EMPTY, 0, 0, true);
  }
}
