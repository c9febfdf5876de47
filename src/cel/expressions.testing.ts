import assert from 'node:assert/strict';
import {
  compile,
  isProblem,
  newMeter,
  toCel,
  type CelContext,
  type CelProblem,
  type Members,
  type Program,
} from './index.ts';

/** Variables like those of a request, and what one request gives them. */
export const variables: Members = {
  jwt: { kind: 'claims', absent: { rawToken: 'expressions never see the token' } },
  auth: { kind: 'object', members: { claims: { kind: 'claims', absent: {} } } },
  request: {
    kind: 'object',
    members: {
      method: { kind: 'value', type: 'string' },
      path: { kind: 'value', type: 'string' },
      headers: { kind: 'headers' },
      body: { kind: 'absent', why: 'bodies pass through unread' },
    },
  },
  source: {
    kind: 'object',
    members: { address: { kind: 'value', type: 'string' }, port: { kind: 'value', type: 'int' } },
  },
};

const claims = toCel({
  groups: ['admins', 'staff'],
  role: 'superadmins',
  level: 3,
  ratio: 1.5,
  nothing: null,
  map: { admins: true },
});

export const context: CelContext = {
  jwt: claims,
  auth: new Map([['claims', claims]]),
  request: new Map<string, CelContext[string]>([
    ['method', 'GET'],
    ['path', '/a/b?x=1&x=2'],
    [
      'headers',
      new Map<string, CelContext[string]>([
        ['x-one', '1'],
        ['x-two', ['a,b', 'c']],
        ['authorization', 'Bearer abc'],
        ['cookie', 'a=b; sid=s1'],
      ]),
    ],
  ]),
  source: new Map<string, CelContext[string]>([
    ['address', '10.1.2.3'],
    ['port', 40_000n],
  ]),
};

export function program(source: string): Program {
  const compiled = compile(source, variables);
  if (isProblem(compiled)) assert.fail(`${source}: ${compiled.message}`);
  return compiled;
}

export function problem(source: string): CelProblem {
  const compiled = compile(source, variables);
  if (!isProblem(compiled)) assert.fail(`${source} compiles`);
  return compiled;
}

export const run = (source: string): unknown => program(source).run(context, newMeter());

/** Every expression comes to `true`. */
export function allTrue(...sources: string[]): void {
  for (const source of sources) assert.equal(run(source), true, source);
}

/** Every expression compiles and fails when it runs. */
export function allFail(...sources: string[]): void {
  for (const source of sources) assert.ok(run(source) instanceof Error, `${source} fails`);
}

/** Every expression is refused when it is compiled, with this reason. */
export function allRefused(reason: RegExp, ...sources: string[]): void {
  for (const source of sources) assert.match(problem(source).message, reason, source);
}
