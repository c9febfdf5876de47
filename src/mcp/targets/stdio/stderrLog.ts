import type { Logger } from '../../../telemetry/index.ts';

const ringSize = 20;
const ringLine = 512;
const linesPerSecond = 100;

/** The stderr of a child: logged line by line, within a rate, with the last lines kept for errors. */
export class StderrLog {
  private readonly log: Logger;
  private readonly ring: string[] = [];
  private second = 0;
  private count = 0;

  constructor(log: Logger) {
    this.log = log;
  }

  line(text: string): void {
    if (this.ring.length === ringSize) this.ring.shift();
    this.ring.push(text.slice(0, ringLine));
    const second = Math.floor(performance.now() / 1_000);
    if (second !== this.second) {
      if (this.count > linesPerSecond)
        this.log.warn('stderr lines dropped', { count: this.count - linesPerSecond });
      this.second = second;
      this.count = 0;
    }
    if (++this.count <= linesPerSecond) this.log.info('stderr', { line: text });
  }

  /** The last lines, oldest first. */
  get lines(): readonly string[] {
    return [...this.ring];
  }

  /** The last lines, oldest first, as one text. */
  last(): string {
    return this.ring.join('\n');
  }
}
