/** The bytes that a server may leave untaken; while there are more, it gets no further calls. */
export const maxBacklog = 8_388_608;

/**
 * Tells whether a server leaves too many bytes untaken. Many calls may be under way, so it adds their bytes up only when
 * the calls since the last time could have brought so many.
 */
export class Backlog {
  private atMost = 0;

  /** A request is about to be sent. It may be sent a second time, where its connection dies. */
  add({ backlog }: { readonly backlog: number }): void {
    this.atMost += 2 * backlog;
  }

  /** @param underWay the requests that the server has not answered */
  isTooLong(underWay: () => Iterable<{ readonly backlog: number }>): boolean {
    if (this.atMost <= maxBacklog) return false;
    this.atMost = 0;
    let sum = 0;
    for (const request of underWay()) {
      this.add(request);
      sum += request.backlog;
    }
    return sum > maxBacklog;
  }
}
