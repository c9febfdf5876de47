import { FLAG, FRAME, FRAME_HEAD } from './codes.ts';

/** Room for two frames of the usual size. */
const PAGE_BYTES = 32_800;
/** Pages that are kept for later. */
const KEPT = 128;
/** Less than this does not keep its page while the client reads nothing: 17 bytes would take up 2 000 times as much. */
const COPIED_MOST = PAGE_BYTES / 2;

/** Bytes that are written together; it goes back to the others when they are out. */
class Page {
  readonly bytes: Buffer;
  used = 0;
  readonly release: () => void;

  constructor(bytes: number) {
    this.bytes = Buffer.allocUnsafeSlow(bytes);
    this.release = () => {
      this.used = 0;
      if (bytes === PAGE_BYTES && free.length < KEPT) free.push(this);
    };
  }
}

const free: Page[] = [];

/** For bytes that go back to nobody. */
const kept = (): void => undefined;

/** The destination of a connection's bytes. */
export interface Sink {
  /** Are earlier bytes not out yet, so that these may have to wait for long? */
  behind(): boolean;
  cork(): void;
  uncork(): void;
  /** @param done is called when nobody reads the bytes any more */
  write(bytes: Buffer, done: () => void): void;
}

/** Takes nothing. */
const nobody: Sink = {
  behind: () => false,
  cork: () => undefined,
  uncork: () => undefined,
  write: (_bytes, done) => done(),
};

/** Gathers the frames that are written in one turn, so that they go out in one write. */
export class Output {
  /** Bytes that were not handed on yet. */
  pending = 0;
  private page: Page | undefined;
  /** DATA was written since the last `takeData`. */
  private hasData = false;
  private readonly full: Page[] = [];
  private readonly wake: () => void;

  /** @param wake is called when there is something to hand on, where there was nothing */
  constructor(wake: () => void) {
    this.wake = wake;
  }

  /** A place for up to `bytes` at `at` of the result; to be followed by `wrote`. */
  place(bytes: number): Buffer {
    const { page } = this;
    if (page !== undefined && page.bytes.length - page.used >= bytes) return page.bytes;
    if (page !== undefined) this.full.push(page);
    const next = bytes > PAGE_BYTES ? new Page(bytes) : (free.pop() ?? new Page(PAGE_BYTES));
    this.page = next;
    return next.bytes;
  }

  get at(): number {
    return this.page === undefined ? 0 : this.page.used;
  }

  wrote(bytes: number): void {
    (this.page as Page).used += bytes;
    if (this.pending === 0) this.wake();
    this.pending += bytes;
  }

  frame(type: number, flags: number, stream: number, payload: Buffer): void {
    const out = this.place(FRAME_HEAD + payload.length);
    const { at } = this;
    writeHead(out, at, payload.length, type, flags, stream);
    payload.copy(out, at + FRAME_HEAD);
    this.wrote(FRAME_HEAD + payload.length);
  }

  /** A frame whose payload is one number. */
  number(type: number, stream: number, value: number): void {
    const out = this.place(FRAME_HEAD + 4);
    const { at } = this;
    writeHead(out, at, 4, type, 0, stream);
    out.writeUInt32BE(value, at + FRAME_HEAD);
    this.wrote(FRAME_HEAD + 4);
  }

  data(stream: number, bytes: Buffer, from: number, to: number, ends: boolean): void {
    const length = to - from;
    this.hasData = true;
    const out = this.place(FRAME_HEAD + length);
    const { at } = this;
    writeHead(out, at, length, FRAME.data, ends ? FLAG.endStream : 0, stream);
    if (length > 0) bytes.copy(out, at + FRAME_HEAD, from, to);
    this.wrote(FRAME_HEAD + length);
  }

  /** @returns true if DATA was written since the last call */
  takeData(): boolean {
    const { hasData } = this;
    this.hasData = false;
    return hasData;
  }

  /** Hands on what there is. */
  flush(sink: Sink): void {
    const { page, full } = this;
    this.page = undefined;
    this.pending = 0;
    if (page === undefined) return;
    const several = full.length > 0;
    if (several) sink.cork();
    for (const one of full) sink.write(one.bytes.subarray(0, one.used), one.release);
    full.length = 0;
    const bytes = page.bytes.subarray(0, page.used);
    if (bytes.length < COPIED_MOST && sink.behind()) {
      const own = Buffer.allocUnsafeSlow(bytes.length);
      bytes.copy(own);
      page.release();
      sink.write(own, kept);
    } else sink.write(bytes, page.release);
    if (several) sink.uncork();
  }

  /** Drops the output: it has no reader any more. */
  drop(): void {
    this.flush(nobody);
  }
}

export function writeHead(
  out: Buffer,
  at: number,
  length: number,
  type: number,
  flags: number,
  stream: number,
): void {
  out[at] = length >>> 16;
  out[at + 1] = length >>> 8;
  out[at + 2] = length;
  out[at + 3] = type;
  out[at + 4] = flags;
  out[at + 5] = stream >>> 24;
  out[at + 6] = stream >>> 16;
  out[at + 7] = stream >>> 8;
  out[at + 8] = stream;
}
