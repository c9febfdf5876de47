import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { ApiOperation, ApiParameter } from '../../../model/index.ts';
import { defaults } from '../../../model/index.ts';
import { Endpoints } from '../../../upstream/index.ts';
import type { Reach } from '../../contract.ts';
import { recordingLog } from '../../harness.testing.ts';
import { petstoreText, tasksText } from './api.testing.ts';
import { apiRequest } from './apiRequest.ts';
import { ArgumentError } from './callArguments.ts';
import { describeApi } from '../description/describe.ts';

const operationOf = (text: string, name: string): ApiOperation =>
  describeApi(text, {}).api.operations.find(({ tool }) => tool.name === name)!;

function reachOf(t: TestContext, more: Partial<Reach> = {}): Reach {
  const endpoints = new Endpoints({ log: recordingLog().log });
  t.after(() => endpoints.close());
  const destination = endpoints.use(
    { host: 'api.example.com', port: 80 },
    defaults.upstream,
    defaults.limits,
  );
  return { destination, path: '/', headers: [], callTimeoutMs: undefined, ...more };
}

interface Sent {
  readonly line: string;
  readonly fields: ReadonlyMap<string, string>;
  readonly body: string | undefined;
}

function sent(operation: ApiOperation, given: object | string | undefined, reach: Reach): Sent {
  const text = typeof given === 'string' || given === undefined ? given : JSON.stringify(given);
  const { head, body } = apiRequest(operation, text, reach, true);
  const [line = '', ...rest] = head.split('\r\n');
  const fields = new Map(
    rest
      .filter((one) => one !== '')
      .map((one) => [one.slice(0, one.indexOf(':')), one.slice(one.indexOf(':') + 2)]),
  );
  return { line, fields, body: body?.toString() };
}

/** An operation with parameters of the test's own. */
const withParameters = (parameters: readonly Partial<ApiParameter>[], path = '/x'): ApiOperation => ({
  tool: { name: 'x' },
  method: 'GET',
  serverPath: '',
  path,
  promisesObject: false,
  parameters: parameters.map((one) => ({
    place: 'query',
    name: 'a',
    required: false,
    style: 'form',
    explode: true,
    members: { names: [], open: true },
    ...one,
  })),
});

const refusal = (run: () => unknown): string => {
  let message = '';
  assert.throws(run, (error) => {
    assert.ok(error instanceof ArgumentError, String(error));
    ({ message } = error);
    return true;
  });
  return message;
};

test('no argument fills the place of a credential that the caller lacks', (t) => {
  const operation = withParameters([
    { name: 'user token' },
    { name: 'X-User-Token', place: 'header', style: 'simple' },
    { name: 'User-Agent', place: 'header', style: 'simple' },
    { name: 'ut', place: 'cookie' },
    { name: 'theme', place: 'cookie' },
    {},
  ]);
  const places = [
    { kind: 'query', name: 'user token' },
    { kind: 'header', name: 'x-user-token' },
    { kind: 'cookie', name: 'ut' },
  ] as const;
  const credentials = places.map((place) => ({ place, of: 'caller', digest: '' }) as const);
  const given = {
    query: { 'user token': 'forged', a: { b: 1 } },
    header: { 'X-User-Token': 'forged', 'User-Agent': 'mine' },
    cookie: { ut: 'forged', theme: 'dark' },
  };
  const { line, fields } = sent(operation, given, reachOf(t, { credentials }));
  assert.equal(line, 'GET /x?b=1 HTTP/1.1');
  assert.equal(fields.get('x-user-token'), undefined);
  assert.equal(fields.get('user-agent'), 'mine');
  assert.equal(fields.get('cookie'), 'theme=dark');
  const member = { query: { a: { 'user token': 'forged', b: 1 } } };
  assert.equal(sent(withParameters([{}]), member, reachOf(t, { credentials })).line, 'GET /x?b=1 HTTP/1.1');
});

test('arguments go to their places in the request', (t) => {
  const { line, fields } = sent(
    operationOf(petstoreText, 'listPets'),
    {
      query: { tags: ['a b', 'c&d'], limit: 5, filter: { kind: 'cat', age: 2 } },
      header: { 'X-Request-Tag': 'mine' },
      cookie: { session: 's;1' },
    },
    reachOf(t),
  );
  assert.equal(
    line,
    'GET /v2/pets?tags=a%20b&tags=c%26d&limit=5&filter%5Bkind%5D=cat&filter%5Bage%5D=2 HTTP/1.1',
  );
  assert.equal(fields.get('host'), 'api.example.com');
  assert.equal(fields.get('x-request-tag'), 'mine');
  assert.equal(fields.get('cookie'), 'session=s%3B1');
  assert.equal(fields.has('content-length'), false);
});

test('every style writes texts, lists and objects as OpenAPI shows them', (t) => {
  const reach = reachOf(t);
  const list = ['blue', 'black'];
  const map = { R: 100, G: 200 };
  const query = (form: Partial<ApiParameter>, value: unknown): string =>
    sent(withParameters([{ name: 'color', ...form }]), { query: { color: value } }, reach).line.split(
      ' ',
    )[1]!;
  for (const [form, value, expected] of [
    [{ style: 'form', explode: true }, list, '/x?color=blue&color=black'],
    [{ style: 'form', explode: false }, list, '/x?color=blue,black'],
    [{ style: 'form', explode: true }, map, '/x?R=100&G=200'],
    [{ style: 'form', explode: false }, map, '/x?color=R,100,G,200'],
    [{ style: 'form', explode: true }, '', '/x?color='],
    [{ style: 'form', explode: true }, [], '/x'],
    [{ style: 'form', explode: true }, null, '/x'],
    [{ style: 'spaceDelimited', explode: false }, list, '/x?color=blue%20black'],
    [{ style: 'pipeDelimited', explode: false }, list, '/x?color=blue%7Cblack'],
    [{ style: 'pipeDelimited', explode: false }, map, '/x?color=R%7C100%7CG%7C200'],
    [
      { style: 'deepObject', explode: true },
      { a: { b: [1, 2] } },
      '/x?color%5Ba%5D%5Bb%5D=1&color%5Ba%5D%5Bb%5D=2',
    ],
    [{ style: 'json' }, { a: 'b&c' }, '/x?color=%7B%22a%22%3A%22b%26c%22%7D'],
    [{ allowReserved: true }, 'https://a/b?c=d&e#f%20g h', '/x?color=https://a/b?c=d%26e%23f%20g%20h'],
  ] as const)
    assert.equal(query(form, value), expected);
  const path = (form: Partial<ApiParameter>, value: unknown): string =>
    sent(
      withParameters([{ place: 'path', name: 'color', ...form }], '/x/{color}/y'),
      { path: { color: value } },
      reach,
    ).line.split(' ')[1]!;
  for (const [form, value, expected] of [
    [{ style: 'simple', explode: false }, 'a/b ?', '/x/a%2Fb%20%3F/y'],
    [{ style: 'simple', explode: false }, list, '/x/blue,black/y'],
    [{ style: 'simple', explode: false }, map, '/x/R,100,G,200/y'],
    [{ style: 'simple', explode: true }, map, '/x/R=100,G=200/y'],
    [{ style: 'label', explode: true }, list, '/x/.blue.black/y'],
    [{ style: 'label', explode: false }, list, '/x/.blue,black/y'],
    [{ style: 'label', explode: true }, map, '/x/.R=100.G=200/y'],
    [{ style: 'matrix', explode: false }, 'blue', '/x/;color=blue/y'],
    [{ style: 'matrix', explode: false }, list, '/x/;color=blue,black/y'],
    [{ style: 'matrix', explode: true }, list, '/x/;color=blue;color=black/y'],
    [{ style: 'matrix', explode: true }, map, '/x/;R=100;G=200/y'],
  ] as const)
    assert.equal(path(form, value), expected);
});

test('no argument leaves its place in the path', (t) => {
  const reach = reachOf(t);
  const go = (value: unknown, template = '/x/{a}/y'): string =>
    sent(
      withParameters(
        [{ place: 'path', name: 'a', style: 'simple', explode: false, required: true }],
        template,
      ),
      { path: { a: value } },
      reach,
    ).line;
  for (const value of [
    '.',
    '..',
    '../z',
    '..\\z',
    'z/../..',
    '%2e%2e',
    '%2E%2E%2Fz',
    '%252e%252e',
    '..;a=b',
    '\ud800',
  ])
    assert.throws(() => go(value), ArgumentError, value);
  assert.throws(() => go('.', '/x/{a}./y'), ArgumentError);
  assert.match(
    refusal(() => go('')),
    /path: a is empty/,
  );
  assert.match(
    refusal(() => go([])),
    /path: a is empty/,
  );
  assert.match(
    refusal(() => go(null)),
    /path: a is required/,
  );
  assert.equal(go('a.b..c'), 'GET /x/a.b..c/y HTTP/1.1');
  assert.equal(go('feature/x'), 'GET /x/feature%2Fx/y HTTP/1.1');
  assert.equal(go('ü\r\nx'), 'GET /x/%C3%BC%0D%0Ax/y HTTP/1.1');
});

test('numbers that a double cannot hold keep their digits', (t) => {
  const get = operationOf(petstoreText, 'getPet');
  const { line } = sent(get, '{"path":{"petId":12345678901234567890}}', reachOf(t));
  assert.equal(line, 'GET /v2/pets/12345678901234567890 HTTP/1.1');
  const create = operationOf(petstoreText, 'createPet');
  const body = '{"name":"Rex","n":12345678901234567890,"f":1.0}';
  assert.equal(sent(create, `{"body":${body}}`, reachOf(t)).body, body);
  const form = '{"petId":12345678901234567890,"extra":{"id":12345678901234567890}}';
  assert.equal(
    sent(operationOf(petstoreText, 'order'), `{"body":${form}}`, reachOf(t)).body,
    'petId=12345678901234567890&extra=%7B%22id%22%3A12345678901234567890%7D',
  );
  const query = (more: Partial<ApiParameter>, value: string): string =>
    sent(withParameters([{ name: 'a', ...more }]), `{"query":{"a":${value}}}`, reachOf(t)).line;
  assert.equal(
    query({ style: 'json' }, '{"id":12345678901234567890}'),
    'GET /x?a=%7B%22id%22%3A12345678901234567890%7D HTTP/1.1',
  );
  assert.equal(
    query({ style: 'deepObject', explode: true }, '{"id":[12345678901234567890]}'),
    'GET /x?a%5Bid%5D=12345678901234567890 HTTP/1.1',
  );
});

test('arguments that the tool lacks or misses are refused in words', (t) => {
  const reach = reachOf(t);
  const get = operationOf(petstoreText, 'getPet');
  assert.equal(
    refusal(() => sent(get, {}, reach)),
    'path: petId is required',
  );
  assert.equal(
    refusal(() => sent(get, undefined, reach)),
    'path: petId is required',
  );
  assert.equal(
    refusal(() => sent(get, { petId: 1 }, reach)),
    'the tool has no argument "petId"; it has path',
  );
  assert.equal(
    refusal(() => sent(get, { path: { petId: 1, x: 2 } }, reach)),
    'path: the tool has no argument "x"',
  );
  assert.equal(
    refusal(() => sent(get, { path: 1 }, reach)),
    'path: expected an object',
  );
  assert.equal(
    refusal(() => sent(get, '[]', reach)),
    'the arguments: expected an object',
  );
  assert.match(
    refusal(() => sent(get, '{"path":{"petId":1},"path":{"petId":2}}', reach)),
    /"path" is given twice/,
  );
  assert.equal(
    refusal(() => sent(operationOf(petstoreText, 'createPet'), {}, reach)),
    'body is required',
  );
});

test('a header argument cannot begin another header', (t) => {
  const list = operationOf(petstoreText, 'listPets');
  const header = { 'X-Request-Tag': 'a\r\nauthorization: me' };
  assert.match(
    refusal(() => sent(list, { header }, reachOf(t))),
    /visible ASCII/,
  );
});

test('an argument that a server would read as another value is refused, since rules have judged it', (t) => {
  const reach = reachOf(t);
  const header = (value: string): unknown =>
    sent(operationOf(petstoreText, 'listPets'), { header: { 'X-Request-Tag': value } }, reach);
  for (const value of [' hr', 'hr ', ' '])
    assert.equal(
      refusal(() => header(value)),
      'header: X-Request-Tag begins or ends with a space',
    );
  for (const value of ['7', [7], 7.5, true, { a: 7 }])
    assert.match(
      refusal(() => sent(operationOf(petstoreText, 'getPet'), { path: { petId: value } }, reach)),
      /^path: petId must be integer, and is /,
    );
  const types = (known: readonly string[], value: unknown): string =>
    sent(withParameters([{ types: known }]), { query: { a: value } }, reach).line;
  for (const [known, value, line] of [
    [['number'], 7, 'GET /x?a=7 HTTP/1.1'],
    [['string', 'null'], '7', 'GET /x?a=7 HTTP/1.1'],
    [['string', 'null'], null, 'GET /x HTTP/1.1'],
    [['array'], [7, '8'], 'GET /x?a=7&a=8 HTTP/1.1'],
    [['object'], { b: 1 }, 'GET /x?b=1 HTTP/1.1'],
    [['boolean'], false, 'GET /x?a=false HTTP/1.1'],
  ] as const)
    assert.equal(types(known, value), line);
  assert.throws(() => types(['string', 'boolean'], 7), /query: a must be string or boolean, and is integer/);
});

test('policies decide about the fields, parameters and cookies that they set', (t) => {
  const operation = withParameters([
    { name: 'key' },
    { name: 'q' },
    { place: 'header', name: 'X-Key', style: 'simple', explode: false },
    { place: 'cookie', name: 'sid', explode: false },
    { place: 'cookie', name: 'theme', explode: false },
  ]);
  const reach = reachOf(t, {
    path: '/base/?key=secret',
    authority: 'other.example.com',
    headers: [
      ['x-key', 'policy'],
      ['cookie', 'sid=policy'],
      ['accept', 'application/vnd.example+json'],
      ['content-length', '7'],
    ],
  });
  const { line, fields } = sent(
    operation,
    { query: { key: 'mine', q: '1' }, header: { 'X-Key': 'mine' }, cookie: { sid: 'mine', theme: 'dark' } },
    reach,
  );
  assert.equal(line, 'GET /base/x?key=secret&q=1 HTTP/1.1');
  assert.equal(fields.get('host'), 'other.example.com');
  assert.equal(fields.get('x-key'), 'policy');
  assert.equal(fields.get('cookie'), 'sid=policy; theme=dark');
  assert.equal(fields.get('accept'), 'application/vnd.example+json');
  assert.equal(fields.has('content-length'), false);
});

test('an exploded object cannot name the parameter of a policy', (t) => {
  const reach = reachOf(t, { path: '/?api+key=secret' });
  // Some servers read a name without case, or take brackets for a list of the name.
  const a = { 'api key': 'mine', 'API key': 'mine', 'api key[]': 'mine', b: 1 };
  const { line } = sent(withParameters([{}]), { query: { a } }, reach);
  assert.equal(line, 'GET /x?api+key=secret&b=1 HTTP/1.1');
  const headers = [['cookie', 'sid=secret']] as const;
  const cookie = { a: { sid: 'mine', SID: 'mine', 'sid[0]': 'mine', b: 1 } };
  const { fields } = sent(withParameters([{ place: 'cookie' }]), { cookie }, reachOf(t, { headers }));
  assert.equal(fields.get('cookie'), 'sid=secret; b=1');
});

test('a form has pairs, and JSON where a value is an object', (t) => {
  const { fields, body } = sent(
    operationOf(petstoreText, 'order'),
    { body: { petId: 7, note: 'a b&c', gifts: ['x', 'y'], extra: { a: 1 }, nothing: null } },
    reachOf(t),
  );
  assert.equal(fields.get('content-type'), 'application/x-www-form-urlencoded');
  assert.equal(body, 'petId=7&note=a+b%26c&gifts=x&gifts=y&extra=%7B%22a%22%3A1%7D');
  assert.equal(fields.get('content-length'), String(body?.length));
});

test('a multipart body has a part for each property, and bytes come out of base64', (t) => {
  const photo = Buffer.from([0x89, 0x50, 0x4e, 0x47]);
  const { fields, body } = sent(
    operationOf(petstoreText, 'addPhoto'),
    {
      path: { petId: 1 },
      body: {
        photo: photo.toString('base64'),
        caption: 'a\r\nb',
        place: { city: 'Rome' },
        'odd"\r\nname': 'x',
      },
    },
    reachOf(t),
  );
  const [, boundary = ''] =
    /^multipart\/form-data; boundary=([0-9a-f]{32})$/.exec(fields.get('content-type') ?? '') ?? [];
  const parts = (body ?? '').split(`--${boundary}`);
  assert.equal(parts.at(-1), '--\r\n');
  assert.deepEqual(
    parts.slice(1, -1).map((part) => part.slice(2, -2)),
    [
      `Content-Disposition: form-data; name="photo"; filename="photo"\r\nContent-Type: image/png\r\n\r\n${photo.toString()}`,
      'Content-Disposition: form-data; name="caption"\r\n\r\na\r\nb',
      'Content-Disposition: form-data; name="place"\r\nContent-Type: application/json\r\n\r\n{"city":"Rome"}',
      'Content-Disposition: form-data; name="odd%22%0D%0Aname"\r\n\r\nx',
    ],
  );
  assert.match(
    refusal(() =>
      sent(operationOf(petstoreText, 'addPhoto'), { path: { petId: 1 }, body: { photo: 'ü' } }, reachOf(t)),
    ),
    /photo: expected base64/,
  );
});

test('a request without a body says so where its method could have one', (t) => {
  const post = { ...withParameters([]), method: 'POST' };
  assert.equal(sent(post, undefined, reachOf(t)).fields.get('content-length'), '0');
});

test('parameters of 3.1 are written as their description says', (t) => {
  const { line } = sent(
    operationOf(tasksText, 'get_projects_project_tasks'),
    { path: { project: 'a b' }, query: { order: ['name', 'due'], where: { x: 1 }, url: 'http://a/?b' } },
    reachOf(t),
  );
  assert.equal(
    line,
    'GET /projects/a%20b/tasks?order=name%7Cdue&where=%7B%22x%22%3A1%7D&url=http://a/?b HTTP/1.1',
  );
});
