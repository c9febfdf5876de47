/** Servers on version 2 of the TypeScript SDK: the fixture of the conformance suite, and one whose lists have pages. */
import { fileURLToPath } from 'node:url';
import type { Subject, ToolCall } from '../subject.ts';

const fixture = fileURLToPath(new URL('../../conformance/mcp/fixture.ts', import.meta.url));
const pages = fileURLToPath(new URL('../../e2e/fixtures/pages.ts', import.meta.url));

const calls: readonly ToolCall[] = [
  ...[
    'test_simple_text',
    'test_image_content',
    'test_audio_content',
    'test_embedded_resource',
    'test_multiple_content_types',
    'test_error_handling',
    'test_reconnection',
    'test_tool_with_progress',
    'test_elicitation_sep1034_defaults',
    'test_elicitation_sep1330_enums',
  ].map((tool) => ({ tool })),
  { tool: 'json_schema_2020_12_tool', args: { name: 'Ada', contactMethod: 'phone', phone: '1' } },
  { tool: 'json_schema_2020_12_tool', args: { unknown: true } },
  { tool: 'test_tool_with_logging', heard: { 'notifications/message': 3 } },
  { tool: 'test_sampling', args: { prompt: 'say something' } },
  { tool: 'test_sampling', args: {} },
  { tool: 'test_elicitation', args: { message: 'Who are you?' } },
  {
    tool: 'test_elicitation',
    args: { message: 'Who are you?' },
    answers: { 'elicitation/create': { result: { action: 'cancel' } } },
  },
];

const conformance: Omit<Subject, 'name' | 'over' | 'program'> = {
  calls,
  prompts: [
    { name: 'test_simple_prompt' },
    { name: 'test_prompt_with_arguments', arguments: { arg1: 'one', arg2: 'two' } },
    { name: 'test_prompt_with_arguments', arguments: { arg1: 'one' } },
    { name: 'test_prompt_with_embedded_resource', arguments: { resourceUri: 'test://static-text' } },
    { name: 'test_prompt_with_image' },
  ],
  resources: ['test://template/7/data'],
  completions: [
    {
      ref: { type: 'ref/prompt', name: 'test_prompt_with_arguments' },
      argument: { name: 'arg1', value: 'par' },
    },
  ],
  watched: { uri: 'test://watched-resource' },
  progress: { tool: 'test_tool_with_progress' },
  async more(peer) {
    await peer.request('logging/setLevel', { level: 'error' });
    await peer.request('tools/call', { name: 'test_tool_with_logging' });
  },
};

const items = Array.from({ length: 7 }, (_, index) => index);

const paged: Subject = {
  name: 'SDK v2 with pages over stdio',
  over: 'stdio',
  program: () => ({ cmd: process.execPath, args: [pages] }),
  calls: [
    ...items.map((index) => ({ tool: `tool-${index}` })),
    {
      tool: 'announce',
      heard: {
        'notifications/tools/list_changed': 1,
        'notifications/prompts/list_changed': 1,
        'notifications/resources/list_changed': 1,
      },
    },
  ],
  // The first of them answers only when it is cancelled.
  calledLater: ['wait', 'cancelled'],
  prompts: [],
  resources: [],
  completions: [],
  async more(peer) {
    const { id } = peer.ask(
      'tools/call',
      { name: 'wait', arguments: { label: 'first' } },
      'tools/call, cancelled',
    );
    // The answer to a later call means that the server has the first one.
    await peer.request('tools/call', { name: 'tool-0' });
    await peer.notify('notifications/cancelled', { requestId: id });
    await peer.request('tools/call', { name: 'tool-0' });
    await peer.request('tools/call', { name: 'cancelled' });
  },
};

export const sdk2Subjects: readonly Subject[] = [
  {
    ...conformance,
    name: 'SDK v2 over stdio',
    over: 'stdio',
    program: () => ({ cmd: process.execPath, args: [fixture] }),
  },
  {
    ...conformance,
    name: 'SDK v2 over HTTP',
    over: 'http',
    program: () => ({ cmd: process.execPath, args: [fixture, '--http'] }),
  },
  paged,
];
