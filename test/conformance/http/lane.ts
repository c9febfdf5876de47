import type { Seen } from '../../fuzz/seen.ts';
import { ANSWER, type Backend, ECHO, echoOf, type Arrived } from './backend.ts';
import { HOST, type AnswerCase, type RequestCase, type StreamCase } from './case.ts';
import { Client } from './client.ts';
import { Streams, type StreamEnd } from './streams.ts';

const MARKER = '/marker';
const AFTER = '/after';

const get = (target: string): string => `GET ${target} HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`;

/** The observations of a case at both ends of the gateway. */
export interface Sighting {
  readonly answers: readonly Seen[];
  /** The requests that the answers name; undefined for answers of the gateway's own. */
  readonly echoes: readonly (string | undefined)[];
  /** The reason why the answers could not be read. */
  readonly bad: string | undefined;
  /** Whole requests at the backend, without those that only ask whether it is still in step. */
  readonly requests: readonly Seen[];
  /** The request behind the case arrived. */
  readonly marked: boolean;
  /** All bytes at the backend, by connection. */
  readonly pieces: readonly string[];
  /** The gateway neither answered nor closed. */
  readonly silent: boolean;
  /** A request on another connection, sent afterwards, got an answer of its own. */
  readonly inStep: boolean;
}

/** The client's observations of an answer under trial. */
export interface AnswerSighting extends Pick<Sighting, 'answers' | 'echoes' | 'bad' | 'silent' | 'inStep'> {
  readonly received: string;
  /** The gateway ended the connection. */
  readonly ended: boolean;
}

export interface StreamSighting extends Pick<
  Sighting,
  'requests' | 'marked' | 'pieces' | 'silent' | 'inStep'
> {
  /** The ends of the stream under trial and of the one behind it; undefined if they went with the connection. */
  readonly first: StreamEnd | undefined;
  readonly second: StreamEnd | undefined;
}

/** A gateway in front of one backend, which has one case at a time. */
export class Lane {
  readonly backend: Backend;
  private readonly port: number;
  /** The time that an answer may take. */
  private readonly waitMs: number;
  private probe: Client | undefined;

  constructor(port: number, backend: Backend, waitMs: number) {
    this.port = port;
    this.backend = backend;
    this.waitMs = waitMs;
  }

  /** Sends the bytes of a case, and behind them, at once, a request that must get its own answer. */
  async send({ text, last = false, readings }: RequestCase): Promise<Sighting> {
    this.backend.begin();
    const client = await Client.open(this.port);
    const method = /^[A-Z]+/.exec(text)?.[0] ?? 'GET';
    client.send(last ? text : text + get(MARKER), [method]);
    const own = echoOf({ start: 'GET', target: MARKER } as Seen);
    const wanted = readings?.[0]?.length ?? 0;
    // A message that is never complete ends with its connection.
    if (last && wanted === 0) client.finish();
    const over = last
      ? () => wanted > 0 && client.answers.length >= wanted
      : () => client.answers.some((answer) => echoOn(answer) === own);
    const answered = await client.until(over, this.waitMs);
    const silent = !answered && !client.ended;
    client.close();
    const inStep = await this.ask();
    const arrived = await this.backend.settled(this.waitMs);
    return { ...sighting(client, arrived), silent, inStep };
  }

  /** Asks for an answer under trial, and at once for another, which must come as it is. */
  async receive({ text, closes = false, method = 'GET' }: AnswerCase): Promise<AnswerSighting> {
    this.backend.begin();
    this.backend.script = { text, closes };
    const client = await Client.open(this.port);
    const behind = get(MARKER);
    client.send(`${method} ${ANSWER} HTTP/1.1\r\nHost: ${HOST}\r\n\r\n${behind}`, [method, 'GET']);
    const answered = await client.until(
      () => client.answers.length > 1 || client.bad !== undefined,
      this.waitMs,
    );
    const silent = !answered && !client.ended;
    client.close();
    this.backend.script = undefined;
    const inStep = await this.ask();
    await this.backend.settled(this.waitMs);
    const { answers, bad, received, ended } = client;
    return { answers, echoes: answers.map(echoOn), bad, received, ended, silent, inStep };
  }

  /** Sends a stream of HTTP/2 and one behind it, on a connection of their own. */
  async stream(item: StreamCase): Promise<StreamSighting> {
    this.backend.begin();
    const streams = await Streams.open(this.port);
    streams.send(item);
    await streams.until(() => streams.endOf(1) !== undefined, this.waitMs);
    streams.send({
      fields: [
        [':method', 'GET'],
        [':scheme', 'http'],
        [':authority', HOST],
        [':path', MARKER],
      ],
    });
    await streams.until(() => streams.endOf(3) !== undefined, this.waitMs);
    const [first, second] = [streams.endOf(1), streams.endOf(3)];
    const silent = first === undefined && !streams.ended;
    streams.close();
    const inStep = await this.ask();
    const { requests, pieces } = await this.backend.settled(this.waitMs);
    const ours = requests.filter(({ target }) => target !== AFTER);
    return {
      first,
      second,
      requests: ours.filter((request) => echoOf(request) !== markerEcho),
      marked: ours.some((request) => echoOf(request) === markerEcho),
      pieces,
      silent,
      inStep,
    };
  }

  /** A request on a connection of its own: has the case left something behind that answers it wrongly? */
  async ask(): Promise<boolean> {
    for (let attempt = 0; attempt < 2; attempt++) {
      const probe = (this.probe ??= await Client.open(this.port));
      const before = probe.answers.length;
      probe.send(get(AFTER), ['GET']);
      if (await probe.until(() => probe.answers.length > before, this.waitMs))
        return echoOn(probe.answers.at(-1) as Seen) === echoOf({ start: 'GET', target: AFTER } as Seen);
      // It may have been closed in the meantime, as connections may be.
      probe.close();
      this.probe = undefined;
    }
    return false;
  }

  async close(): Promise<void> {
    this.probe?.close();
    await this.backend.close();
  }
}

const echoOn = ({ fields }: Seen): string | undefined => fields.find(([name]) => name === ECHO)?.[1];

function sighting(client: Client, { requests, pieces }: Arrived): Omit<Sighting, 'silent' | 'inStep'> {
  const ours = requests.filter(({ target }) => target !== AFTER);
  return {
    answers: client.answers,
    echoes: client.answers.map(echoOn),
    bad: client.bad,
    requests: ours.filter((request) => echoOf(request) !== markerEcho),
    marked: ours.some((request) => echoOf(request) === markerEcho),
    pieces,
  };
}

/** The request behind a case, as its answer names it. */
export const markerEcho = echoOf({ start: 'GET', target: MARKER } as Seen);
