import { fileURLToPath } from 'node:url';
import { installPython } from '../../e2e/python.testing.ts';
import type { Subject } from '../subject.ts';

const script = fileURLToPath(new URL('fastmcp.py', import.meta.url));
const installed = installPython('fastmcp==4.1.2');

/** The reason why the subjects cannot run here. */
export const missing = 'missing' in installed && installed.missing;

const program = (transport: string) => () => ({
  cmd: 'python3',
  args: ['-s', script, transport],
  env: { PYTHONPATH: 'folder' in installed ? installed.folder : '', FASTMCP_CHECK_FOR_UPDATES: 'off' },
});

const fastmcp: Omit<Subject, 'name' | 'over' | 'program'> = {
  modern: 'spoken',
  hasNoListen: true,
  startsSlowly: true,
  calls: [
    { tool: 'add', args: { a: 2 } },
    { tool: 'add', args: { a: 'two' } },
    { tool: 'greet', args: { name: 'Ada' } },
    { tool: 'greet', args: { name: 'Ada', unknown: 1 } },
    { tool: 'structure' },
    { tool: 'picture' },
    { tool: 'fail', args: { kind: 'known' } },
    { tool: 'fail', args: { kind: 'unknown' } },
    { tool: 'report', heard: { 'notifications/message': 3 } },
    { tool: 'slow' },
    { tool: 'ask' },
    { tool: 'ask', answers: { 'elicitation/create': { result: { action: 'decline' } } } },
    { tool: 'sample' },
    {
      tool: 'sample',
      answers: { 'sampling/createMessage': { error: { code: -1, message: 'the user refused' } } },
    },
  ],
  prompts: [{ name: 'review', arguments: { code: 'x = 1' } }, { name: 'review' }],
  resources: ['data://people/Ada'],
  completions: [
    { ref: { type: 'ref/prompt', name: 'review' }, argument: { name: 'language', value: 'P' } },
    { ref: { type: 'ref/resource', uri: 'data://people/{name}' }, argument: { name: 'name', value: 'Pe' } },
  ],
  progress: { tool: 'slow' },
  cancelled: { tool: 'slow', args: { pause: 0.5 } },
};

export const fastmcpSubjects: readonly Subject[] = [
  { ...fastmcp, name: 'fastmcp over stdio', over: 'stdio', program: program('stdio') },
  { ...fastmcp, name: 'fastmcp over HTTP', over: 'http', program: program('http') },
];
