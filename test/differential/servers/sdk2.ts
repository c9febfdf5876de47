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
    'test_tool_with_progress',
    'test_elicitation_sep1034_defaults',
    'test_elicitation_sep1330_enums',
    'test_logging_tool',
    'test_input_required_result_elicitation',
    'test_input_required_result_sampling',
    'test_input_required_result_list_roots',
    'test_input_required_result_request_state',
    'test_input_required_result_tampered_state',
    'test_input_required_result_multiple_inputs',
    'test_input_required_result_multi_round',
    'test_input_required_result_capabilities',
    'test_missing_capability',
    'test_streaming_elicitation',
    'failing_job',
    'protocol_error_job',
    'multi_input',
    'test_tool_with_task',
  ].map((tool) => ({ tool })),
  { tool: 'json_schema_2020_12_tool', args: { name: 'Ada', contactMethod: 'phone', phone: '1' } },
  { tool: 'json_schema_2020_12_tool', args: { unknown: true } },
  { tool: 'test_tool_with_logging', heard: { 'notifications/message': 3 } },
  { tool: 'test_trigger_tool_change', heard: { 'notifications/tools/list_changed': 1 } },
  { tool: 'test_trigger_prompt_change', heard: { 'notifications/prompts/list_changed': 1 } },
  { tool: 'greet', args: { name: 'Ada' } },
  { tool: 'test_parameter_header', args: { region: 'north' } },
  { tool: 'slow_compute', args: { seconds: 0 } },
  { tool: 'confirm_delete', args: { filename: 'old.txt' } },
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
  // It closes its stream, and this client does not come back. The conformance suite does.
  calledLater: ['test_reconnection'],
  prompts: [
    { name: 'test_simple_prompt' },
    { name: 'test_prompt_with_arguments', arguments: { arg1: 'one', arg2: 'two' } },
    { name: 'test_prompt_with_arguments', arguments: { arg1: 'one' } },
    { name: 'test_prompt_with_embedded_resource', arguments: { resourceUri: 'test://static-text' } },
    { name: 'test_prompt_with_image' },
    { name: 'test_input_required_result_prompt' },
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
    modern: 'spoken',
    name: 'SDK v2 over stdio',
    over: 'stdio',
    program: () => ({ cmd: process.execPath, args: [fixture] }),
  },
  {
    ...conformance,
    modern: 'spoken',
    name: 'SDK v2 over HTTP',
    over: 'http',
    program: () => ({ cmd: process.execPath, args: [fixture, '--http'] }),
  },
  paged,
];
