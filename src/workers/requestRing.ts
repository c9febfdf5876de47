/** Records that are kept, and their bytes. */
export const ringLimits = { records: 2_000, bytes: 8_388_608 };

/** The last records of requests of all processes, as JSON. */
export class RequestRing {
  private readonly kept: string[] = [];
  private bytes = 0;
  private readonly listeners = new Set<(json: string) => void>();

  /** @returns the records that are kept, the oldest first */
  get records(): readonly string[] {
    return this.kept;
  }

  add(json: string): void {
    this.kept.push(json);
    this.bytes += Buffer.byteLength(json);
    while (this.kept.length > ringLimits.records || this.bytes > ringLimits.bytes)
      this.bytes -= Buffer.byteLength(this.kept.shift() ?? '');
    for (const listener of this.listeners) listener(json);
  }

  get isWatched(): boolean {
    return this.listeners.size > 0;
  }

  /** Hears of every further record. @returns what ends it */
  listen(listener: (json: string) => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }
}
