import { fileURLToPath } from 'node:url';
import type { Peer } from '../peer.ts';
import type { Subject, ToolCall } from '../subject.ts';

const stdio = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'));
const http = fileURLToPath(new URL('everythingHttp.ts', import.meta.url));

const watched = 'demo://resource/dynamic/text/1';
const page = `data:text/plain,${encodeURIComponent('Grüße, 世界')}`;
const declined = { 'elicitation/create': { result: { action: 'decline' } } };
const unable = { code: -32603, message: 'the client is unable', data: { own: [1.5, null] } };
const link = { url: 'https://example.com/form', elicitationId: 'link-1' };

const calls: readonly ToolCall[] = [
  { tool: 'echo', args: { message: 'Grüße, 世界 🌍 "quoted" \\ \u2028' } },
  { tool: 'echo', args: { message: '' }, params: { _meta: { 'example.com/own': [1, { a: null }] } } },
  { tool: 'echo', args: { message: 7 } },
  { tool: 'echo' },
  { tool: 'get-annotated-message', args: { messageType: 'error', includeImage: true } },
  { tool: 'get-env' },
  { tool: 'get-resource-links', args: { count: 4 } },
  { tool: 'get-resource-reference', args: { resourceType: 'Text', resourceId: 3 } },
  { tool: 'get-resource-reference', args: { resourceType: 'Blob', resourceId: -1 } },
  { tool: 'get-roots-list' },
  { tool: 'get-structured-content', args: { location: 'Chicago' } },
  { tool: 'get-structured-content', args: { location: 'Atlantis' } },
  { tool: 'get-sum', args: { a: 2, b: 0.5 } },
  { tool: 'get-sum', args: { a: 'two' } },
  { tool: 'get-tiny-image' },
  {
    tool: 'gzip-file-as-resource',
    args: { name: 'page.gz', data: page },
    heard: { 'notifications/resources/list_changed': 1 },
  },
  {
    tool: 'gzip-file-as-resource',
    args: { name: 'whole.gz', data: page, outputType: 'resource' },
    heard: { 'notifications/resources/list_changed': 1 },
  },
  { tool: 'trigger-long-running-operation', args: { duration: 0.2, steps: 2 } },
  { tool: 'trigger-sampling-request', args: { prompt: 'say something', maxTokens: 10 } },
  {
    tool: 'trigger-sampling-request',
    args: { prompt: 'say nothing' },
    answers: { 'sampling/createMessage': { error: unable } },
  },
  { tool: 'trigger-sampling-request-async', args: { prompt: 'say something later' } },
  { tool: 'trigger-elicitation-request' },
  { tool: 'trigger-elicitation-request', answers: declined },
  { tool: 'trigger-elicitation-request', answers: { 'elicitation/create': { error: unable } } },
  { tool: 'trigger-elicitation-request-async' },
  { tool: 'trigger-url-elicitation', args: link },
  { tool: 'trigger-url-elicitation', args: { ...link, errorPath: true } },
  // This server demands a task.
  { tool: 'simulate-research-query', args: { topic: 'gateways' } },
  // The second call ends what the first one began.
  { tool: 'toggle-simulated-logging', heard: { 'notifications/message': 1 } },
  { tool: 'toggle-simulated-logging' },
  { tool: 'toggle-subscriber-updates' },
  { tool: 'toggle-subscriber-updates' },
];

/** Subscribes, and gets an update. */
async function update(peer: Peer): Promise<void> {
  const toggle = { name: 'toggle-subscriber-updates' };
  await peer.hearing({ 'notifications/message': 1 }, () =>
    peer.request('resources/subscribe', { uri: watched }),
  );
  await peer.hearing({ 'notifications/resources/updated': 1 }, () => peer.request('tools/call', toggle));
  await peer.request('tools/call', toggle);
  await peer.hearing({ 'notifications/message': 1 }, () =>
    peer.request('resources/unsubscribe', { uri: watched }),
  );
}

/** Runs a tool as a task, with a question on the way, and gives up another task. */
async function runTasks(peer: Peer): Promise<void> {
  const begin = async (topic: string): Promise<unknown> => {
    const { result } = await peer.request('tools/call', {
      name: 'simulate-research-query',
      arguments: { topic, ambiguous: true },
      task: { ttl: 60_000 },
    });
    return (result?.['task'] as { taskId: string } | undefined)?.taskId;
  };
  const taskId = await begin('gateways');
  // A server of the revision before has no tasks.
  if (taskId === undefined) return;
  await peer.request('tasks/result', { taskId });
  await peer.request('tasks/get', { taskId });
  await peer.request('tasks/cancel', { taskId: await begin('other gateways') });
  await peer.request('tasks/list', {});
  await peer.request('tasks/get', { taskId: 'no-such-task' });
}

const everything: Omit<Subject, 'name' | 'over' | 'program'> = {
  roots: [{ uri: 'file:///srv/first', name: 'first' }],
  // The server asks for the roots a moment after its client is ready, and logs that it has them.
  opening: { 'roots/list': 1, 'notifications/message': 1 },
  calls,
  prompts: [
    { name: 'simple-prompt' },
    { name: 'args-prompt', arguments: { city: 'Turin', state: 'Piedmont' } },
    { name: 'args-prompt' },
    { name: 'completable-prompt', arguments: { department: 'Sales', name: 'Eve' } },
    { name: 'resource-prompt', arguments: { resourceType: 'Text', resourceId: '2' } },
    { name: 'resource-prompt', arguments: { resourceType: 'Neither', resourceId: '2' } },
  ],
  resources: [
    'demo://resource/dynamic/text/7',
    'demo://resource/dynamic/blob/8',
    'demo://resource/dynamic/text/none',
    'demo://resource/session/page.gz',
  ],
  completions: [
    {
      ref: { type: 'ref/prompt', name: 'completable-prompt' },
      argument: { name: 'name', value: 'E' },
      context: { arguments: { department: 'Sales' } },
    },
    {
      ref: { type: 'ref/resource', uri: 'demo://resource/dynamic/text/{resourceId}' },
      argument: { name: 'resourceId', value: '12' },
    },
  ],
  progress: { tool: 'trigger-long-running-operation', args: { duration: 0.3, steps: 3 } },
  cancelled: { tool: 'trigger-long-running-operation', args: { duration: 2.4, steps: 3 } },
  async more(peer) {
    await peer.request('logging/setLevel', { level: 'debug' });
    await update(peer);
    await runTasks(peer);
    await peer.hearing({ 'roots/list': 1, 'notifications/message': 1 }, () =>
      peer.notify('notifications/roots/list_changed'),
    );
    await peer.request('logging/setLevel', { level: 'emergency' });
  },
};

export const everythingSubjects: readonly Subject[] = [
  {
    ...everything,
    name: 'server-everything over stdio',
    over: 'stdio',
    modern: 'bridged',
    program: () => ({ cmd: process.execPath, args: [stdio, 'stdio'] }),
  },
  {
    ...everything,
    name: 'server-everything over Streamable HTTP',
    over: 'http',
    program: () => ({ cmd: process.execPath, args: [http, 'http'] }),
  },
  {
    ...everything,
    name: 'server-everything over HTTP+SSE',
    over: 'sse',
    program: () => ({ cmd: process.execPath, args: [http, 'sse'] }),
  },
];
