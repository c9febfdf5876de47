import type { ServerResponse } from 'node:http';

/** Open event streams, over all pages. */
const mostStreams = 16;
/** Bytes that a slow reader may leave unread before its events are dropped. */
const mostUnread = 1_048_576;
const keepAliveMs = 15_000;

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
    let dropped = 0;
    response.write(': open\n\n');
    const send = (json: string): void => {
      if (response.writableLength > mostUnread) {
        dropped++;
        return;
      }
      if (dropped > 0) response.write(`event: dropped\ndata: {"records":${dropped}}\n\n`);
      dropped = 0;
      response.write(`event: request\ndata: ${json}\n\n`);
    };
    const end = begin(send);
    const close = (): void => void response.end();
    const timer = setInterval(() => {
      if (isAllowed()) response.write(': alive\n\n');
      else close();
    }, keepAliveMs).unref();
    this.open.set(close, isAllowed);
    response.once('close', () => {
      clearInterval(timer);
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
