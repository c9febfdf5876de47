/** Servers that answer with a large result in parts, and the readings of what a client gets. */

import assert from 'node:assert/strict';
import type { Limits } from '../../model/index.ts';
import { mcpBackend, remoteTarget, startHarness, stdioTarget, type Harness } from '../harness.testing.ts';
import type { Message } from '../rawClient.testing.ts';
import { RemoteServer, type Incoming } from '../remoteServer.testing.ts';

const closing: (() => Promise<void>)[] = [];

/** Ends what runs after the present test. */
export const closeAfter = (close: () => Promise<void>): void => void closing.unshift(close);

export async function closeStages(): Promise<void> {
  for (const close of closing.splice(0)) await close();
}

/** A response in three parts, as the tool `large` writes it. */
export interface Large {
  readonly before: string;
  readonly letters: number;
  readonly after: string;
  /** The server dies or breaks its connection off behind these parts. */
  readonly dies?: boolean;
}

export const letters = 3_000_000;
export const idFirst: Large = {
  before: '{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"é',
  letters,
  after: '"}]}}\n',
};
export const idLast: Large = {
  before: '{"result":{"content":[{"type":"text","text":"é',
  letters,
  after: '"}]},"jsonrpc":"2.0","id":$ID}\n',
};

export const ways = ['stdio', 'JSON over HTTP', 'events over HTTP'] as const;
export type Way = (typeof ways)[number];

export interface StageOptions {
  readonly limits?: Partial<Limits>;
  readonly callTimeoutMs?: number;
  /** Callers without a principal share no server. */
  readonly principal?: string;
}

export interface Stage {
  readonly harness: Harness;
  /** The calls of `large` that a server over HTTP got. */
  readonly asked: Incoming[];
}

/** A gateway before a server that answers in one of the ways. */
export async function startStage(way: Way, options: StageOptions = {}): Promise<Stage> {
  const asked: Incoming[] = [];
  const settings = options.callTimeoutMs === undefined ? {} : { callTimeoutMs: options.callTimeoutMs };
  let target;
  if (way === 'stdio') target = stdioTarget(settings);
  else {
    const server = await RemoteServer.start();
    closeAfter(() => server.close());
    server.tools['large'] = (x) => {
      asked.push(x);
      answerInParts(x, way === 'events over HTTP');
    };
    target = remoteTarget(server.url, settings);
  }
  const harness = await startHarness({
    backend: mcpBackend({ targets: [target] }),
    ...(options.limits && { limits: options.limits }),
    caller: () => ({ principal: options.principal }),
  });
  closeAfter(() => harness.close());
  return {
    harness,
    asked,
  };
}

function answerInParts(x: Incoming, events: boolean): void {
  const large = x.seen.message.params!['arguments'] as Large;
  const part = (text: string): string => text.replaceAll('$ID', String(x.id));
  const { response } = x;
  const ends = large.after.endsWith('\n');
  response.writeHead(200, { 'content-type': events ? 'text/event-stream' : 'application/json' });
  if (events) response.write('data: ');
  response.write(part(large.before));
  response.write('x'.repeat(large.letters));
  response.write(part(large.after), () => {
    if (large.dies === true) response.destroy();
  });
  if (!ends) return;
  if (events) response.write('\n');
  response.end();
}

export const forms = ['JSON', 'events'] as const;
export type Form = (typeof forms)[number];
export const accepts = (form: Form): Record<string, string> => ({
  accept: form === 'JSON' ? 'application/json, text/event-stream' : 'text/event-stream',
});

/** The data of the events of a stream, by their types. */
export const eventsOf = (text: string): { type: string; data: string }[] =>
  text
    .split('\n\n')
    .filter((block) => /^data: ./m.test(block))
    .map((block) => ({
      // The last field counts (HTML, "Event stream interpretation").
      type: [...block.matchAll(/^event: (.*)$/gm)].at(-1)?.[1] ?? 'message',
      data: /^data: ?(.*)$/m.exec(block)![1]!,
    }));

/**
 * Reads an answer while it arrives.
 * @param onMost runs when most of the letters have come, but not the end
 */
export async function readAround(response: Response, onMost: () => void): Promise<string> {
  const reader = response.body!.getReader();
  let text = '';
  while (text.length < 2_500_000) text += Buffer.from((await reader.read()).value!).toString('latin1');
  onMost();
  for (let part = await reader.read(); !part.done; part = await reader.read())
    text += Buffer.from(part.value).toString('latin1');
  return text;
}

/** The error that takes the place of a response of which a stream has got a part. */
export function refusalIn(text: string): Message {
  const found = eventsOf(text);
  assert.deepEqual(
    found.map(({ type }) => type),
    ['broken', 'message'],
  );
  const refusal = JSON.parse(found[1]!.data) as Message;
  assert.equal(refusal.error?.code, -32603);
  return refusal;
}

/** The message that the client got, in whatever form. */
export function messageIn(text: string, form: Form): Message {
  const messages =
    form === 'JSON' ? [text] : eventsOf(text).flatMap(({ type, data }) => (type === 'message' ? [data] : []));
  assert.equal(messages.length, 1);
  return JSON.parse(messages[0]!) as Message;
}

export const textOf = (message: Message): string =>
  (message.result!['content'] as { text: string }[])[0]!.text;
