import type { HttpRequest } from '../../http/index.ts';

/** Takes the fields of the access log about one message. */
export type MessageNotes = Pick<HttpRequest, 'annotate' | 'decided'>;

type Field = Parameters<HttpRequest['annotate']>;

const isRefusal = ([field, value]: Field): boolean => field === 'mcp.outcome' && value === 'refused';

/** The line of a batch. It is about the first message that is refused, or else about the last one. */
export class BatchLine {
  private readonly http: MessageNotes;
  private refused: readonly Field[] | undefined;

  constructor(http: MessageNotes) {
    this.http = http;
  }

  /** The notes about a message of the batch. */
  message(): MessageNotes {
    const said: Field[] = [];
    return {
      annotate: (...note) => {
        said.push(note);
        if (this.refused === undefined && isRefusal(note)) {
          this.refused = said;
          // Other messages may have overwritten them meanwhile.
          for (const field of said) this.http.annotate(...field);
        } else if (this.refused === undefined || this.refused === said) this.http.annotate(...note);
      },
      decided: (by) => this.http.decided(by),
    };
  }
}

/**
 * The notes about a request of the gateway's own, which serves the request of a client: the line has the method of the
 * client, and names the item of the gateway's request only if it is refused.
 */
export function notesOfOwn(http: MessageNotes): MessageNotes {
  const said: Field[] = [];
  let isRefused = false;
  return {
    annotate: (...note) => {
      if (note[0] === 'mcp.method') return;
      said.push(note);
      isRefused ||= isRefusal(note);
      if (isRefused) for (const field of said.splice(0)) http.annotate(...field);
    },
    decided: (by) => http.decided(by),
  };
}
