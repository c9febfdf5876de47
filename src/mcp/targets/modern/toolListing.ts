import { cut, memberOf, stringValue, type Envelope } from '../../json/envelope.ts';
import { ownMessage } from '../../json/ownMessage.ts';
import type { Waiter } from '../kind/target.ts';

/** A list that ends nowhere is given up. */
const maxPages = 64;

/** Lists the tools of a server, for what the list says of headers. Readers at the same time share one listing. */
export class ToolListing {
  private readonly send: (request: Envelope, waiter: Waiter) => void;
  private readonly meta: () => string;
  private waiting: (() => void)[] = [];

  /**
   * @param send sends a request to the server; its response passes by the reader of lists
   * @param meta members of `_meta`, as JSON text
   */
  constructor(send: (request: Envelope, waiter: Waiter) => void, meta: () => string) {
    this.send = send;
    this.meta = meta;
  }

  /** @param then runs once every page was read, or one of them failed */
  read(then: () => void): void {
    if (this.waiting.push(then) === 1) this.page(undefined, 1);
  }

  private page(cursor: string | undefined, number: number): void {
    const params = `{"_meta":{${this.meta()}}${cursor === undefined ? '' : `,"cursor":${cursor}`}}`;
    this.send(ownMessage('tools/list', params), {
      answered: (response) => {
        const next = response.isError ? undefined : nextCursor(response);
        if (next === undefined || number >= maxPages) this.done();
        else this.page(next, number + 1);
      },
      failed: () => this.done(),
    });
  }

  private done(): void {
    for (const then of this.waiting.splice(0)) then();
  }
}

/** The cursor of the next page as the server wrote it. */
function nextCursor({ text, body }: Envelope): string | undefined {
  const place = memberOf(text, body, 'nextCursor');
  if (typeof place !== 'object' || stringValue(text, place) === undefined) return undefined;
  return cut(text, place);
}
