const flushMs = 100;
const mostRecords = 200;

/** Sends the records of a worker to the main process, several at a time. */
export class RecordBatch {
  private records: string[] = [];
  private timer: NodeJS.Timeout | undefined;
  private readonly send: (records: readonly string[]) => void;

  constructor(send: (records: readonly string[]) => void) {
    this.send = send;
  }

  add(json: string): void {
    this.records.push(json);
    if (this.records.length >= mostRecords) this.flush();
    else this.timer ??= setTimeout(() => this.flush(), flushMs).unref();
  }

  flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.records.length > 0) this.send(this.records.splice(0));
  }
}
