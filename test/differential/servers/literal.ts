import { fileURLToPath } from 'node:url';
import type { Subject } from '../subject.ts';

const program = fileURLToPath(new URL('literalServer.ts', import.meta.url));

/** A number in a form of its own. Not in the types of this edition of JavaScript yet. */
const raw = (JSON as unknown as { rawJSON(text: string): object }).rawJSON;

/** Members that no library would send. */
const odd = {
  n: [raw('1.0'), raw('1E3'), raw('12345678901234567890')],
  '': null,
  deep: [[[{}]]],
  t: 'é\u2028/"\\',
};
const meta = { _meta: { 'example.com/own': odd }, unknown: odd };

/** A server that writes its messages by hand. */
export const literalSubjects: readonly Subject[] = [
  {
    name: 'a hand-written server over stdio',
    over: 'stdio',
    program: () => ({ cmd: process.execPath, args: [program] }),
    roots: [{ uri: 'file:///srv/first', name: 'first' }],
    calls: [
      { tool: 'echo', args: odd, params: meta },
      { tool: 'echo' },
      { tool: 'echo', params: { _meta: { progressToken: 'a token', x: raw('1.0') } } },
      { tool: 'one_two', args: { uri: 'one+file:///a' } },
      { tool: 'a.b/c-d', args: {} },
      { tool: 'content' },
      { tool: 'ask' },
      {
        tool: 'ask',
        answers: {
          'sampling/createMessage': { result: { model: 'm', role: 'assistant', content: odd, ...meta } },
          'elicitation/create': { error: { code: -1, message: 'no', data: odd } },
          'roots/list': { result: { roots: [{ uri: 'file:///r', unknown: odd }], ...meta } },
        },
      },
      {
        tool: 'notify',
        heard: {
          'notifications/message': 1,
          'notifications/resources/updated': 1,
          'notifications/tools/list_changed': 1,
        },
      },
      { tool: 'fail', args: odd },
    ],
    prompts: [{ name: 'one_p', arguments: { a: 'Grüße' } }],
    resources: ['FILE:///A', 'nowhere'],
    completions: [
      {
        ref: { type: 'ref/prompt', name: 'one_p', unknown: odd },
        argument: { name: 'a', value: 'x' },
        ...meta,
      },
      { ref: { type: 'ref/resource', uri: 'file:///{+path}{?q*}' }, argument: { name: 'path', value: 'x' } },
    ],
    watched: { uri: 'file:///a b' },
  },
];
