import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Seen } from '../../fuzz/seen.ts';
import { Changes } from './changes.ts';
import { readOne, strict } from './reader.ts';

/** A client's connection: what comes is kept as bytes and as answers, interim ones left out. */
export class Client {
  readonly answers: Seen[] = [];
  received = '';
  ended = false;
  /** The reason why the bytes are not an answer. */
  bad: string | undefined;
  private readonly socket: Socket;
  private at = 0;
  private readonly methods: string[] = [];
  private readonly changes = new Changes();

  private constructor(port: number) {
    this.socket = connect({ port, host: '127.0.0.1', noDelay: true });
    const end = (): void => {
      this.ended = true;
      this.read();
      this.changes.changed();
    };
    this.socket.on('end', end);
    this.socket.on('close', end);
    this.socket.on('error', end);
    this.socket.on('data', (bytes: Buffer) => {
      this.received += bytes.toString('latin1');
      this.read();
      this.changes.changed();
    });
  }

  static async open(port: number): Promise<Client> {
    const client = new Client(port);
    await once(client.socket, 'connect');
    return client;
  }

  /** @param methods of the requests in there */
  send(text: string, methods: readonly string[] = []): void {
    this.methods.push(...methods);
    this.socket.write(text, 'latin1');
  }

  /** Ends the sending side. */
  finish(): void {
    this.socket.end();
  }

  /** Waits until a condition holds or the connection has ended; for so long at most. */
  async until(condition: () => boolean, ms: number): Promise<boolean> {
    await this.changes.until(() => condition() || this.ended, ms);
    return condition();
  }

  close(): void {
    this.socket.destroy();
  }

  private read(): void {
    while (this.at < this.received.length && this.bad === undefined) {
      const front = readOne(this.received, this.at, 'answer', strict, {
        methods: this.methods,
        ended: this.ended,
      });
      if (front.kind === 'more') return;
      if (front.kind === 'bad') {
        this.bad = front.why;
        return;
      }
      this.at = front.end;
      if (Number(front.seen.start) < 200) continue;
      this.methods.shift();
      this.answers.push(front.seen);
    }
  }
}
