import { Writable } from 'node:stream';

/** A log destination in memory. */
export class MemoryDestination extends Writable {
  text = '';

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }

  get lines(): string[] {
    return this.text.split('\n').slice(0, -1);
  }
}
