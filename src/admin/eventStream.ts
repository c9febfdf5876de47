import type { ServerResponse } from 'node:http';

/** Open event streams, over all pages. */
const mostStreams = 16;
/** Bytes that a slow reader may leave unread before its events are dropped. */
const mostUnread = 1_048_576;
const keepAliveMs = 15_000;
/** Events are written together: each write costs more than the text of an event. */
const gatherMs = 100;
/** Characters that are written without waiting for more. */
const mostGathered = 65_536;

/** The event streams of a port; whoever opened the port ends them. */
export class EventStreams {
  /** What ends each stream → may its reader read on? */
  private readonly open = new Map<() => void, () => boolean>();

  get isFull(): boolean {
    return this.open.size >= mostStreams;
  }

  /**
   * Opens an event stream on a response.
   * @param begin gets the function that sends an event, and returns what ends the source of the events
   * @param isAllowed asked now and then; the stream ends where its reader may not read on
   */
  serve(
    response: ServerResponse,
    begin: (send: (json: string) => void) => () => void,
    isAllowed: () => boolean = () => true,
  ): void {
    const events = new EventWriter(response);
    const end = begin((json) => events.send(json));
    const close = (): void => {
      events.flush();
      response.end();
    };
    const timer = setInterval(() => {
      if (isAllowed()) response.write(': alive\n\n');
      else close();
    }, keepAliveMs).unref();
    this.open.set(close, isAllowed);
    response.once('close', () => {
      clearInterval(timer);
      events.close();
      this.open.delete(close);
      end();
    });
  }

  /** Ends the streams whose readers may not read on. */
  review(): void {
    for (const [close, isAllowed] of this.open) if (!isAllowed()) close();
  }

  end(): void {
    for (const close of this.open.keys()) close();
  }
}

/** Writes the events of one stream, several at a time; whoever made it closes it. */
class EventWriter {
  private readonly response: ServerResponse;
  private waiting = '';
  private dropped = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(response: ServerResponse) {
    this.response = response;
    response.write(': open\n\n');
  }

  send(json: string): void {
    if (this.response.writableLength + this.waiting.length > mostUnread) {
      this.dropped++;
      return;
    }
    if (this.dropped > 0) this.waiting += `event: dropped\ndata: {"records":${this.dropped}}\n\n`;
    this.dropped = 0;
    this.waiting += `event: request\ndata: ${json}\n\n`;
    if (this.waiting.length > mostGathered) this.flush();
    else this.timer ??= setTimeout(() => this.flush(), gatherMs).unref();
  }

  flush(): void {
    this.close();
    if (this.waiting === '' || this.response.writableEnded) return;
    this.response.write(this.waiting);
    this.waiting = '';
  }

  close(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }
}
