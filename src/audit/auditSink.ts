/** A destination of lines. A sink has one write at a time. */
export interface AuditSinkPort {
  /** Lines wait so long for others, in milliseconds. */
  readonly gatherMs: number;
  /** Most bytes of one write. */
  readonly maxBatch: number;
  /**
   * Stores whole lines.
   * @param durable they must survive a crash of the machine when the promise resolves
   * @throws SinkError with the bytes of whole lines that it has stored
   */
  write(bytes: Buffer, durable: boolean): Promise<void>;
  /** Stores what it can at once, when the process ends without notice. */
  writeNow(bytes: Buffer): void;
  /** The end of the stream so far, for the line that names it; empty where the sink cannot read. */
  tail(): string;
  close(): Promise<void>;
}

export class SinkError extends Error {
  override readonly name = 'SinkError';
  /** Bytes of the write that are stored, up to the end of a line. */
  readonly stored: number;
  /** Bytes of the line behind them, if the sink will never take that line. */
  readonly refused: number;

  constructor(message: string, stored: number, cause?: unknown, refused = 0) {
    super(message, { cause });
    this.stored = stored;
    this.refused = refused;
  }
}
