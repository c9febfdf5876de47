import type { Duplex } from 'node:stream';
import { lines } from './lines.ts';
import { maxLineBytes, written } from './wire.ts';

/** Silent for so many beats, the other side is dead. */
const deadAfterBeats = 3;
/** After a last word, for the other side to end, too. */
const partingMs = 5_000;

/**
 * Lines in both directions on one stream, which is ended when the other side is silent, or does not take what is sent
 * to it, for too long.
 */
export class LineStream {
  private readonly stream: Duplex;
  private readonly onBytes: (bytes: number) => void;
  private beatMs: number;
  private timer: NodeJS.Timeout;
  private heardAt = performance.now();
  /** Set while received lines are being worked on, so that no further lines are read. */
  private busy = false;
  private blockedSince: number | undefined;

  /** @param onBytes told of what was read */
  constructor(stream: Duplex, beatMs: number, onBytes: (bytes: number) => void = () => {}) {
    this.stream = stream;
    this.beatMs = beatMs;
    this.onBytes = onBytes;
    this.timer = setInterval(() => this.beat(), beatMs);
    // The reader or writer reports the error; an error between the two must not end the process.
    stream.on('error', () => undefined);
    stream.once('close', () => clearInterval(this.timer));
  }

  /** As the other side wishes. */
  useBeat(beatMs: number): void {
    if (beatMs === this.beatMs) return;
    this.beatMs = beatMs;
    clearInterval(this.timer);
    if (!this.stream.destroyed) this.timer = setInterval(() => this.beat(), beatMs);
  }

  /** @throws LineTooLong, LineCut, and why the stream was ended */
  async *lines(): AsyncGenerator<string> {
    for await (const line of lines(this.chunks(), maxLineBytes)) {
      this.busy = true;
      yield line;
      this.busy = false;
      this.heardAt = performance.now();
    }
  }

  /**
   * Resolves when there is room for more.
   * @throws Error when the stream is closed
   */
  async send(text: string): Promise<void> {
    const { stream } = this;
    if (stream.destroyed || stream.writableEnded) throw new Error('the stream is closed');
    if (stream.write(text)) return;
    this.blockedSince ??= performance.now();
    await new Promise<void>((resolve, reject) => {
      const settle = (done: () => void) => (): void => {
        stream.off('drain', onDrain);
        stream.off('close', onClose);
        done();
      };
      const onDrain = settle(() => resolve());
      const onClose = settle(() => reject(new Error('the stream is closed')));
      stream.on('drain', onDrain);
      stream.on('close', onClose);
    });
    this.blockedSince = undefined;
  }

  /** Says a last word, and that nothing more comes. */
  end(text = ''): void {
    const { stream } = this;
    if (stream.destroyed || stream.writableEnded) return;
    stream.end(text);
    const parting = setTimeout(() => stream.destroy(), partingMs).unref();
    stream.once('close', () => clearTimeout(parting));
  }

  destroy(reason?: string): void {
    this.stream.destroy(reason === undefined ? undefined : new Error(reason));
  }

  private async *chunks(): AsyncGenerator<Buffer> {
    for await (const chunk of this.stream as AsyncIterable<Buffer>) {
      this.heardAt = performance.now();
      this.onBytes(chunk.length);
      yield chunk;
    }
  }

  private beat(): void {
    const now = performance.now();
    const late = deadAfterBeats * this.beatMs;
    if (!this.busy && now - this.heardAt > late) this.destroy('nothing was heard for too long');
    else if (this.blockedSince !== undefined) {
      if (now - this.blockedSince > late) this.destroy('what is sent is not taken');
    } else if (!this.stream.writableEnded) this.stream.write(written({ type: 'beat' }));
  }
}
