/** The course of requests that a subject gets, the same directly and through a gateway. */
import assert from 'node:assert/strict';
import type { Peer } from './peer.ts';
import type { SlowCall, Subject } from './subject.ts';

export const revisions = ['2025-11-25', '2025-06-18'] as const;
export type Revision = (typeof revisions)[number];
/** Its requests stand alone, and have a course of their own. */
export const modernRevision = '2026-07-28';
export type AnyRevision = Revision | typeof modernRevision;

/** The abilities of a client, as far as the revision knows them. */
const capabilities: Readonly<Record<Revision, object>> = {
  '2025-11-25': {
    sampling: { tools: {}, context: {} },
    elicitation: { form: {}, url: {} },
    roots: { listChanged: true },
    tasks: { requests: { sampling: { createMessage: {} }, elicitation: { create: {} } } },
    experimental: { 'example.com/own': { level: 1 } },
  },
  '2025-06-18': { sampling: {}, elicitation: {}, roots: { listChanged: true } },
};

const lists = [
  ['tools/list', 'tools'],
  ['prompts/list', 'prompts'],
  ['resources/list', 'resources'],
  ['resources/templates/list', 'resourceTemplates'],
] as const;

/** Requests that no server can fulfil. */
export const wrong: readonly (readonly [method: string, params?: object])[] = [
  ['tools/call', { name: 'no-such-tool', arguments: {} }],
  ['tools/call', { name: 'no-such-tool' }],
  ['prompts/get', { name: 'no-such-prompt' }],
  ['resources/read', { uri: 'nowhere://at/all' }],
  [
    'completion/complete',
    { ref: { type: 'ref/prompt', name: 'no-such-prompt' }, argument: { name: 'a', value: '' } },
  ],
  ['logging/setLevel', { level: 'loud' }],
  ['no/such/method', {}],
];

export async function walk(peer: Peer, subject: Subject, revision: Revision): Promise<void> {
  await open(peer, subject, revision);
  await peer.request('ping');
  const listed = await walkLists(peer);
  await callTools(peer, subject, listed.tools);
  for (const prompt of subject.prompts)
    await peer.request('prompts/get', prompt, `prompts/get ${prompt.name}`);
  for (const uri of [...listed.resources, ...subject.resources])
    await peer.request('resources/read', { uri }, `resources/read ${uri}`);
  for (const completion of subject.completions) await peer.request('completion/complete', completion);
  await watch(peer, subject);
  await reportProgress(peer, subject);
  await cancel(peer, subject);
  await subject.more?.(peer);
  for (const [method, params] of wrong) await peer.request(method, params, `wrong ${method}`);
  await peer.end();
}

export async function open(
  peer: Peer,
  subject: Subject,
  revision: Revision,
  own: object = capabilities[revision],
): Promise<void> {
  const { result } = await peer.request('initialize', {
    protocolVersion: revision,
    capabilities: own,
    clientInfo: { name: 'differential', title: 'The differential suite', version: '1.0.0' },
  });
  assert.ok(result, 'initialize failed');
  await peer.listen();
  await peer.hearing(subject.opening ?? {}, () => peer.notify('notifications/initialized'));
}

interface Listed {
  readonly tools: readonly string[];
  readonly resources: readonly string[];
}

/** Asks for every page of every list, also of those that the server does not have. */
export async function walkLists(peer: Peer): Promise<Listed> {
  const found = { tools: [] as string[], resources: [] as string[] };
  for (const [method, member] of lists) {
    let cursor: unknown;
    do {
      const { result } = await peer.request(method, cursor === undefined ? {} : { cursor });
      const items = (peer.own(result ?? {})[member] ?? []) as { name: string; uri: string }[];
      if (member === 'tools') found.tools.push(...items.map(({ name }) => name));
      if (member === 'resources') found.resources.push(...items.map(({ uri }) => uri));
      cursor = result?.['nextCursor'];
    } while (cursor !== undefined);
  }
  return found;
}

async function callTools(peer: Peer, subject: Subject, tools: readonly string[]): Promise<void> {
  const known = new Set([...subject.calls.map(({ tool }) => tool), ...(subject.calledLater ?? [])]);
  assert.deepEqual(
    tools.filter((tool) => !known.has(tool)),
    [],
    'tools without a call in the table',
  );
  for (const { tool, args, params, heard, answers } of subject.calls) {
    if (!tools.includes(tool)) continue;
    const call = { name: tool, ...(args === undefined ? {} : { arguments: args }), ...params };
    await peer.hearing(heard ?? {}, () => peer.request('tools/call', call, `tools/call ${tool}`), answers);
  }
}

async function watch(peer: Peer, { watched }: Subject): Promise<void> {
  if (watched === undefined) return;
  const { uri, heard = {} } = watched;
  await peer.hearing(heard, () => peer.request('resources/subscribe', { uri }));
  await peer.hearing(heard, () => peer.request('resources/unsubscribe', { uri }));
}

/** A call with its own token of progress, and metadata that a gateway must keep. */
export const slowCall = ({ tool, args = {} }: SlowCall, progressToken: string | number): object => ({
  name: tool,
  arguments: args,
  _meta: { progressToken, 'example.com/own': 'kept' },
});

async function reportProgress(peer: Peer, { progress }: Subject): Promise<void> {
  if (progress === undefined) return;
  // Both kinds of tokens are allowed.
  for (const token of [7, 'seven'])
    await peer.request('tools/call', slowCall(progress, token), 'tools/call with progress');
}

async function cancel(peer: Peer, { cancelled }: Subject): Promise<void> {
  if (cancelled === undefined) return;
  const { id } = await peer.hearing({ 'notifications/progress': 1 }, () =>
    Promise.resolve(peer.ask('tools/call', slowCall(cancelled, 'cancelled'), 'tools/call, cancelled')),
  );
  await peer.notify('notifications/cancelled', { requestId: id, reason: 'no longer needed' });
  // The cancelled call would have ended before this one.
  await peer.request('tools/call', slowCall(cancelled, 'after'), 'tools/call after a cancelled one');
}
