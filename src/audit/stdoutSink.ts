import { writeSync } from 'node:fs';
import { messageOf } from '../errorText.ts';
import { standardOutput } from '../telemetry/index.ts';
import { SinkError, type AuditSinkPort } from './auditSink.ts';

const newline = 0x0a;
/** A pipe takes so many bytes of one write together or not at all (POSIX, PIPE_BUF on Linux). */
const together = 4_096;

/** Standard output, beside the access log. A reader that does not read costs no time: lines wait in memory. */
export class StdoutSink implements AuditSinkPort {
  readonly gatherMs = 100;
  readonly maxBatch = 262_144;
  private torn = false;

  constructor() {
    // Opening the stream makes a pipe non-blocking.
    void process.stdout.writableLength;
    standardOutput.join(this);
  }

  write(bytes: Buffer): Promise<void> {
    let at = 0;
    let stored = 0;
    try {
      standardOutput.endOtherLines(this);
      this.endLine();
      while (at < bytes.length) {
        at += writeSync(1, bytes, at, this.pieceEnd(bytes, at) - at);
        stored = bytes.lastIndexOf(newline, at - 1) + 1;
      }
      return Promise.resolve();
    } catch (error) {
      if (at > stored) this.torn = true;
      return Promise.reject(new SinkError(`standard output: ${messageOf(error)}`, stored, error));
    }
  }

  writeNow(bytes: Buffer): void {
    standardOutput.endOtherLines(this);
    this.endLine();
    writeSync(1, bytes);
  }

  /** The beginning of a line stays as a piece. The writer repeats the line. */
  endLine(): void {
    if (!this.torn) return;
    writeSync(1, '\n');
    this.torn = false;
  }

  tail(): string {
    return '';
  }

  close(): Promise<void> {
    if (!this.torn) standardOutput.leave(this);
    return Promise.resolve();
  }

  /** The end of as many whole lines as a pipe keeps together, or of one longer line. */
  private pieceEnd(bytes: Buffer, at: number): number {
    const most = Math.min(bytes.length, at + together);
    const end = bytes.lastIndexOf(newline, most - 1) + 1;
    if (end > at) return end;
    const next = bytes.indexOf(newline, at) + 1;
    return next === 0 ? bytes.length : next;
  }
}
