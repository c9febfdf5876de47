import type { HeaderLine } from '../../http/index.ts';
import type { ChildEnvironment, Reach } from '../contract.ts';
import type { CallLimit } from '../limits/callTimeouts.ts';
import type { Envelope, Span } from '../json/envelope.ts';
import { splice, type Edit } from '../json/scan.ts';

/** The way of a caller to a target. It has credentials: never for a log. */
export type OwnWay = Pick<Outgoing, 'reach' | 'environment'>;

/** A request on its way to a target: the client's text and what must change in it. */
export interface Outgoing {
  readonly envelope: Envelope;
  /** Place of `params._meta.progressToken`; the id on the wire takes its place, which is unique per target. */
  readonly token: Span | undefined;
  /** Other changes, such as a tool's own name in place of the prefixed one. */
  readonly edits: readonly Edit[];
  /** The time that the call may take; absent: as long as it takes. */
  readonly limit?: CallLimit;
  /** Further header lines for a server over the network: of policies, and the `Mcp-Param-*` of a client of the modern era. */
  readonly headers?: readonly HeaderLine[];
  /** The way of its own caller to a server over the network; absent: the way of the newest caller. */
  readonly reach?: Reach | undefined;
  /** The values of its own caller for a child; absent: the values of the newest caller. */
  readonly environment?: ChildEnvironment | undefined;
}

/** The line for the wire, with the id that the connection gave the request. */
export function renderOutgoing(out: Outgoing, wireId: number): string {
  const { text, idSpan } = out.envelope;
  const id = String(wireId);
  if (out.token === undefined && out.edits.length === 0)
    return text.slice(0, idSpan.start) + id + text.slice(idSpan.end);
  // Clients write the id before the params.
  const edits = [replaced(idSpan, id), ...out.edits];
  if (out.token !== undefined) edits.push(replaced(out.token, id));
  return splice(text, edits);
}

const replaced = ({ start, end }: Span, replacement: string): Edit => ({ start, end, replacement });
