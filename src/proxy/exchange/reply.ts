import { catalogue, type ErrorCode } from '../../errors.ts';
import {
  hasNoBody,
  httpDate,
  renderLines,
  statusLine,
  type HeaderLine,
  type Reply,
} from '../../http/index.ts';
import type { LiveExchange } from './liveExchange.ts';
import { PIECE, writeWhole } from './writeWhole.ts';

/** Up to this size a body is written together with its head. */
export const TOGETHER = 16_384;

/** Fields the wire writes itself: whoever sets them would break the framing. */
const wireOwned = new Set(['content-length', 'transfer-encoding', 'connection', 'date', 'keep-alive']);

/** Writes a complete answer of our own. */
export function sendReply(exchange: LiveExchange, reply: Reply): void {
  const { status } = reply;
  if (!exchange.begin(status)) return;
  const body = hasNoBody(status) ? undefined : reply.body;
  const length = body === undefined ? 0 : typeof body === 'string' ? Buffer.byteLength(body) : body.length;
  const framing = hasNoBody(status) ? '' : `content-length: ${length}\r\n`;
  const head = localHead(exchange, status, reply.headers ?? [], framing);
  exchange.responseBytes = head.length + length;
  const { connection } = exchange;
  if (body === undefined || length === 0 || exchange.method === 'HEAD') connection.write(head);
  // As many bytes as characters: it is ASCII, and one text is one write.
  else if (typeof body === 'string' && length === body.length && length <= TOGETHER)
    connection.write(head + body);
  else if (length <= TOGETHER) {
    // The head is ASCII or latin1 and the body any bytes: one buffer, one write.
    const out = Buffer.allocUnsafe(head.length + length);
    out.write(head, 0, 'latin1');
    if (typeof body === 'string') out.write(body, head.length, 'utf8');
    else body.copy(out, head.length);
    connection.write(out);
  } else if (length <= PIECE) {
    connection.socket.cork();
    connection.write(head);
    connection.write(typeof body === 'string' ? Buffer.from(body) : body);
    connection.socket.uncork();
  } else {
    exchange.responseBytes = head.length;
    exchange.answerIsReady();
    connection.write(head);
    writeWhole(exchange, typeof body === 'string' ? Buffer.from(body) : body, (piece, isLast) => {
      exchange.responseBytes += piece.length;
      const more = connection.write(piece);
      if (isLast) exchange.finish();
      return more;
    });
    return;
  }
  exchange.finish();
}

/** An answer to what is no request: nothing that follows on its connection can be trusted. */
export function bareAnswer(code: ErrorCode): string {
  const { status, message } = catalogue[code];
  const body = `${message}\n`;
  return (
    `${statusLine(status)}content-type: text/plain; charset=utf-8\r\ncontent-length: ${body.length}\r\n` +
    `date: ${httpDate(Date.now())}\r\nconnection: close\r\n\r\n${body}`
  );
}

/** Head of an answer that does not come from a backend. */
export function localHead(
  exchange: LiveExchange,
  status: number,
  headers: readonly HeaderLine[],
  framing: string,
): string {
  const edits = exchange.pendingResponseEdits;
  const edited = edits === undefined || edits.empty ? headers : edits.apply(headers);
  if (exchange.snapshot.keepsResponse) exchange.responseLines = edited;
  const lines = edited.filter(([name]) => !wireOwned.has(name.toLowerCase()));
  const server =
    exchange.snapshot.settings.headers.server &&
    edits?.dropsName('server') !== true &&
    !lines.some(([name]) => name.toLowerCase() === 'server');
  return (
    statusLine(status) +
    renderLines(lines) +
    framing +
    `date: ${httpDate(Date.now())}\r\n` +
    (server ? 'server: portcullis\r\n' : '') +
    connectionLine(exchange) +
    '\r\n'
  );
}

/** Says whether the connection stays open, where the version's default does not say it (RFC 9112 §9.3). */
export function connectionLine(exchange: LiveExchange): string {
  if (exchange.connection.draining || exchange.connection.restIsTooMuch(exchange)) exchange.keepAlive = false;
  if (!exchange.keepAlive) return 'connection: close\r\n';
  return exchange.head.http10 ? 'connection: keep-alive\r\n' : '';
}
