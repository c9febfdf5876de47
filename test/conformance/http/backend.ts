import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { Seen } from '../../fuzz/seen.ts';
import { Changes } from './changes.ts';
import { readOne, strict } from './reader.ts';

/** The path of a request that gets the answer under trial. */
export const ANSWER = '/answer';

/** Field of an answer that says which request it belongs to. */
export const ECHO = 'x-echo';

export const echoOf = ({ start, target }: Seen): string => encodeURIComponent(`${start} ${target}`);

/** A connection from the gateway, with every byte that came. */
class Connection {
  readonly socket: Socket;
  received = '';
  /** Behind the last whole request. */
  at = 0;
  /** The start of the present case. */
  mark = 0;
  ended = false;

  constructor(socket: Socket) {
    this.socket = socket;
  }
}

/** The bytes that arrived for a case. */
export interface Arrived {
  /** Whole requests, by the strict reader, in order of their ends. */
  readonly requests: readonly Seen[];
  /** The bytes of each connection. */
  readonly pieces: readonly string[];
}

/**
 * The backend of a lane: keeps the bytes that it gets, reads them strictly, and answers each request with its own method
 * and target, or with the bytes of an answer under trial.
 */
export class Backend {
  private readonly server: Server;
  private readonly connections = new Set<Connection>();
  private readonly changes = new Changes();
  private requests: Seen[] = [];
  /** The answer to a request for `ANSWER`. */
  script: { readonly text: string; readonly closes: boolean } | undefined;

  private constructor() {
    this.server = createServer({ noDelay: true }, (socket) => this.accept(socket));
  }

  static async start(): Promise<Backend> {
    const backend = new Backend();
    backend.server.listen(0, '127.0.0.1');
    await once(backend.server, 'listening');
    return backend;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** A new case begins. */
  begin(): void {
    this.requests = [];
    for (const connection of this.connections) {
      if (connection.ended) this.connections.delete(connection);
      else connection.mark = connection.at;
    }
  }

  /**
   * Waits until no request is left unfinished, because it was completed or its connection ended; for so long at most.
   */
  async settled(ms: number): Promise<Arrived> {
    await this.changes.until(
      () => ![...this.connections].some(({ received, at, ended }) => !ended && at < received.length),
      ms,
    );
    return {
      requests: this.requests,
      pieces: [...this.connections]
        .map(({ received, mark }) => received.slice(mark))
        .filter((piece) => piece !== ''),
    };
  }

  async close(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    for (const { socket } of this.connections) socket.destroy();
    await closed;
  }

  private accept(socket: Socket): void {
    const connection = new Connection(socket);
    this.connections.add(connection);
    const end = (): void => {
      connection.ended = true;
      this.changes.changed();
    };
    socket.on('error', end);
    socket.on('close', end);
    socket.on('data', (bytes: Buffer) => {
      connection.received += bytes.toString('latin1');
      this.read(connection);
      this.changes.changed();
    });
  }

  private read(connection: Connection): void {
    const { socket } = connection;
    while (connection.at < connection.received.length && !socket.destroyed) {
      const front = readOne(connection.received, connection.at, 'request', strict);
      if (front.kind === 'more') return;
      if (front.kind === 'bad') {
        // No answer, and no further request: the pieces show what was wrong.
        socket.destroy();
        return;
      }
      connection.at = front.end;
      this.requests.push(front.seen);
      this.answer(socket, front.seen);
    }
  }

  private answer(socket: Socket, request: Seen): void {
    if (request.target === ANSWER && this.script !== undefined) {
      const { text, closes } = this.script;
      if (closes) socket.end(text, 'latin1');
      else socket.write(text, 'latin1');
      return;
    }
    const echo = echoOf(request);
    const body = request.start === 'HEAD' ? '' : echo;
    socket.write(`HTTP/1.1 200 OK\r\n${ECHO}: ${echo}\r\ncontent-length: ${echo.length}\r\n\r\n${body}`);
  }
}
