import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ApiOperation, OperationChoice } from '../../../model/index.ts';
import { describeApi } from './describe.ts';
import { DescriptionError } from './descriptionText.ts';

const folder = join(import.meta.dirname, '..', 'openapi', 'testdata');
const petstore = readFileSync(join(folder, 'petstore-3.0.yaml'), 'utf8');
const tasks = readFileSync(join(folder, 'tasks-3.1.json'), 'utf8');

const operationsOf = (text: string, choice: OperationChoice = {}): ReadonlyMap<string, ApiOperation> =>
  new Map(describeApi(text, choice).api.operations.map((one) => [one.tool.name, one]));

const all = { tags: [], paths: [], operations: [] };

/** A description of one path. */
const described = (item: object, more: object = {}, path = '/x'): string =>
  JSON.stringify({ openapi: '3.1.0', info: {}, paths: { [path]: item }, ...more });

const problemOf = (text: string, choice: OperationChoice = {}): string => {
  let message = '';
  assert.throws(
    () => describeApi(text, choice),
    (error) => {
      assert.ok(error instanceof DescriptionError);
      ({ message } = error);
      return true;
    },
  );
  return message;
};

/** Members of nested objects. */
const at = (value: unknown, ...path: string[]): unknown =>
  path.reduce((found, name) => (found as Record<string, unknown>)[name], value);

test('operations of 3.0 become tools with their texts, hints and arguments', () => {
  const { api, warnings } = describeApi(petstore, {});
  assert.deepEqual(
    api.operations.map(({ tool, method, path }) => [tool.name, method, path]),
    [
      ['listPets', 'GET', '/pets'],
      ['createPet', 'POST', '/pets'],
      ['getPet', 'GET', '/pets/{petId}'],
      ['delete_pets_petId', 'DELETE', '/pets/{petId}'],
      ['getPhoto', 'GET', '/pets/{petId}/photo'],
      ['addPhoto', 'POST', '/pets/{petId}/photo'],
      ['order', 'POST', '/orders'],
    ],
  );
  assert.deepEqual(
    [api.title, api.version, api.instructions],
    ['Petstore', '1.2.0', 'Pets that can be bought.'],
  );
  assert.ok(api.operations.every(({ serverPath }) => serverPath === '/v2'));
  const [list, create, , remove] = api.operations;
  assert.equal(list?.tool['title'], 'List pets');
  assert.equal(list?.tool['description'], 'Lists the pets that fit.');
  assert.deepEqual(list?.tool['annotations'], {
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: true,
  });
  assert.deepEqual(create?.tool['annotations'], {
    readOnlyHint: false,
    idempotentHint: false,
    openWorldHint: true,
  });
  assert.equal(remove?.tool['description'], 'Deprecated. Remove a pet');
  assert.equal(at(remove?.tool['annotations'], 'destructiveHint'), true);
  assert.deepEqual(at(list?.tool['inputSchema'], 'properties', 'query', 'properties', 'limit'), {
    type: 'integer',
    maximum: 100,
    exclusiveMinimum: 0,
  });
  assert.deepEqual(at(remove?.tool['inputSchema'], 'properties', 'path'), {
    type: 'object',
    properties: {
      petId: { type: 'integer', format: 'int64', description: 'The number of the pet.' },
    },
    required: ['petId'],
    additionalProperties: false,
  });
  assert.deepEqual(at(remove?.tool['inputSchema'], 'required'), ['path']);
  assert.deepEqual(warnings, [
    'GET /pets: the header parameter Authorization is left out: the gateway sets this header itself',
    'GET /pets: the query parameter api_key is left out: it is a credential, which the policy backendAuth sends',
  ]);
  assert.deepEqual(
    list?.parameters.map(({ place, name }) => `${place} ${name}`),
    ['query tags', 'query limit', 'query filter', 'header X-Request-Tag', 'cookie session'],
  );
});

test('a recursive schema is written once, and each direction has its own properties', () => {
  const create = operationsOf(petstore).get('createPet')?.tool;
  const input = create?.['inputSchema'];
  assert.deepEqual(at(input, 'properties', 'body'), {
    $ref: '#/$defs/Pet',
    description: 'The new pet.',
  });
  assert.deepEqual(Object.keys(at(input, '$defs') as object), ['Cat', 'Dog', 'Owner', 'Pet']);
  assert.deepEqual(at(input, '$defs', 'Pet'), {
    type: 'object',
    required: ['name'],
    properties: {
      name: { examples: ['Rex'], type: 'string' },
      nickname: { type: ['string', 'null'] },
      secret: { type: 'string' },
      owner: { anyOf: [{ allOf: [{ $ref: '#/$defs/Owner' }] }, { type: 'null' }] },
      kind: { oneOf: [{ $ref: '#/$defs/Cat' }, { $ref: '#/$defs/Dog' }] },
    },
  });
  const output = create?.['outputSchema'];
  assert.equal(at(output, 'type'), 'object');
  const properties = at(output, 'properties') as object;
  assert.ok('id' in properties && !('secret' in properties));
  assert.deepEqual(at(output, '$defs', 'Owner', 'properties', 'pets', 'items'), { $ref: '#/$defs/Pet' });
});

test('tools promise nothing about their answers where the operator says so', () => {
  const { api } = describeApi(petstore, { outputSchemas: false });
  assert.ok(api.operations.every(({ tool, promisesObject }) => !promisesObject && !('outputSchema' in tool)));
});

test('operations of 3.1 keep JSON Schema, and lose only what no client could read', () => {
  const found = operationsOf(tasks);
  assert.deepEqual([...found.keys()], ['get_projects_project_tasks', 'replace_tasks']);
  const replace = found.get('replace_tasks')?.tool['inputSchema'];
  assert.deepEqual(at(replace, 'properties', 'body'), {
    $ref: '#/$defs/Task',
    description: 'The task with its tasks.',
  });
  assert.deepEqual(at(replace, '$defs', 'Task', 'properties'), {
    name: { type: 'string', minLength: 1 },
    due: { type: ['string', 'null'], format: 'date' },
    state: { const: 'open' },
    tasks: { type: 'array', items: { $ref: '#/$defs/Task' } },
    parent: { anyOf: [{ $ref: '#/$defs/Task' }, { type: 'null' }] },
    labels: { $ref: '#/$defs/Task_defs_Labels' },
  });
  assert.deepEqual(at(replace, '$defs', 'Task_defs_Labels'), {
    type: 'object',
    patternProperties: { '^[a-z]+$': { type: 'string' } },
  });
});

test('lists choose operations by tag, path and name, and exclude counts more', () => {
  const names = (choice: OperationChoice): string[] => [...operationsOf(petstore, choice).keys()];
  assert.deepEqual(names({ include: { ...all, tags: ['admin'] } }), ['delete_pets_petId']);
  assert.deepEqual(
    names({ include: { ...all, paths: ['/pets/*'] }, exclude: { ...all, paths: ['*/photo'] } }),
    ['getPet', 'delete_pets_petId'],
  );
  assert.deepEqual(names({ include: { ...all, operations: ['order', 'DELETE /pets/{petId}'] } }), [
    'delete_pets_petId',
    'order',
  ]);
  assert.match(
    describeApi(petstore, { exclude: { ...all, operations: ['deletePet'] } }).warnings.join('\n'),
    /exclude\.operations "deletePet" chooses no operation/,
  );
  assert.equal(
    problemOf(petstore, { include: { ...all, tags: ['cats'] } }),
    'has no operation that is chosen',
  );
});

test('two operations with one name are refused, unless one is excluded', () => {
  const twins = described({ get: { operationId: 'a b' }, put: { operationId: 'a/b' } });
  assert.match(problemOf(twins), /^GET \/x and PUT \/x would both be the tool a_b: /);
  assert.equal(operationsOf(twins, { exclude: { ...all, operations: ['a b'] } }).get('a_b')?.method, 'PUT');
});

test('a reference that leads outside, nowhere or to itself is refused by name', () => {
  const withBody = (schema: object): string =>
    described({ post: { requestBody: { content: { 'application/json': { schema } } } } });
  for (const ref of ['other.yaml#/Pet', 'https://example.com/pet.json', 'file:///etc/passwd'])
    assert.match(
      problemOf(withBody({ $ref: ref })),
      /^POST \/x: the reference ".*" leads outside of the description/,
    );
  assert.match(problemOf(withBody({ $ref: '#/components/schemas/Pet' })), /leads to nothing/);
  assert.match(problemOf(withBody({ $ref: '#anchor' })), /names an anchor/);
  assert.match(problemOf(withBody({ $dynamicRef: '#x' })), /\$dynamicRef/);
  const loop = { components: { parameters: { a: { $ref: '#/components/parameters/a' } } } };
  const get = { get: { parameters: [{ $ref: '#/components/parameters/a' }] } };
  assert.match(problemOf(described(get, loop)), /refers to itself/);
});

test('a schema that is nothing but a reference to itself stays as small as it is', () => {
  const more = { components: { schemas: { Loop: { $ref: '#/components/schemas/Loop' } } } };
  const body = { content: { 'application/json': { schema: { $ref: '#/components/schemas/Loop' } } } };
  const tool = operationsOf(described({ post: { requestBody: body } }, more)).get('post_x')?.tool;
  assert.deepEqual(at(tool?.['inputSchema'], '$defs'), { Loop: { $ref: '#/$defs/Loop' } });
});

test('texts that are no description of 3.0 or 3.1 are refused', () => {
  assert.match(problemOf('{'), /^is not valid JSON/);
  assert.match(problemOf('a: [b'), /^is not valid YAML/);
  assert.match(problemOf('- a'), /expected an object/);
  assert.match(problemOf('{}'), /has no `openapi`/);
  assert.match(problemOf('swagger: "2.0"'), /is of version "2\.0": expected OpenAPI 3\.0 or 3\.1/);
  assert.match(problemOf('{"openapi":"3.2.0"}'), /expected OpenAPI 3\.0 or 3\.1/);
  assert.match(problemOf('{"openapi":"3.1.0"}'), /has no `paths`/);
});

test('hostile texts are refused before they take memory or the stack', () => {
  assert.match(problemOf(`{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`), /nested deeper than 128/);
  assert.match(problemOf(`a: ${'['.repeat(100_000)}`), /nested too deeply/);
  assert.match(problemOf('a: &a\n  b: *a'), /not valid YAML|nested deeper/);
  const levels = Array.from({ length: 30 }, (_, i) => `l${i + 1}: &l${i + 1} [*l${i}, *l${i}, *l${i}]`);
  assert.match(problemOf(['l0: &l0 [x]', ...levels].join('\n')), /aliases repeat each other too often/);
});

test('schemas that are huge in all are refused with the remedy', () => {
  const schemas = Object.fromEntries(
    Array.from({ length: 900 }, (_, i) => [
      `S${i}`,
      { properties: { next: { $ref: `#/components/schemas/S${(i + 1) % 900}` } } },
    ]),
  );
  const body = { content: { 'application/json': { schema: { $ref: '#/components/schemas/S0' } } } };
  const paths = Object.fromEntries(
    Array.from({ length: 300 }, (_, i) => [`/p${i}`, { post: { requestBody: body } }]),
  );
  assert.match(
    problemOf(JSON.stringify({ openapi: '3.1.0', paths, components: { schemas } })),
    /too many schemas in all: choose fewer operations with `include`/,
  );
  const many = Object.fromEntries(Array.from({ length: 2_001 }, (_, i) => [`/p${i}`, { get: {} }]));
  assert.match(
    problemOf(JSON.stringify({ openapi: '3.1.0', paths: many })),
    /has 2001 operations, and at most 2000/,
  );
});

test('a path and its parameters have to fit each other', () => {
  assert.match(
    problemOf(described({ get: {} }, {}, '/a/{b}')),
    /the path names \{b\}, and there is no path parameter/,
  );
  assert.match(problemOf(described({ get: {} }, {}, '/a/../b')), /has a part \. or \.\./);
  assert.match(problemOf(described({ get: {} }, {}, '/a?b=c')), /a character that no path can have/);
  const extra = { parameters: [{ name: 'b', in: 'path', schema: {} }], get: {} };
  assert.match(describeApi(described(extra), {}).warnings.join(), /the path does not name it/);
  const accents = operationsOf(described({ get: {} }, {}, '/café/a%2Fb'));
  assert.equal([...accents.values()][0]?.path, '/caf%C3%A9/a%2Fb');
});

test('no parameter sets a header that frames the message, names the host or the sender, or carries credentials', () => {
  const names = [
    'Host',
    'content-length',
    'Transfer-Encoding',
    'Connection',
    'Cookie',
    'Authorization',
    'Accept',
    'TE',
    'Forwarded',
    'X-Forwarded-For',
    'X-Forwarded-Port',
    'X-Real-IP',
    'Via',
  ];
  const parameters = [...names, 'X-Fine'].map((name) => ({ name, in: 'header', schema: { type: 'string' } }));
  const { api, warnings } = describeApi(described({ get: { parameters } }), {});
  assert.deepEqual(
    api.operations[0]?.parameters.map(({ name }) => name),
    ['X-Fine'],
  );
  assert.equal(warnings.length, names.length);
  const broken = [{ name: 'a\r\nb', in: 'header', schema: {} }];
  assert.match(problemOf(described({ get: { parameters: broken } })), /is no name of a header/);
});

test('TRACE is left out, since its answer repeats credentials', () => {
  const { api, warnings } = describeApi(described({ trace: {}, get: {} }), {});
  assert.equal(api.operations.length, 1);
  assert.match(warnings.join(), /TRACE \/x is left out/);
});

test('only an operation whose every success is the same object promises structured answers', () => {
  const promise = (responses: object): boolean =>
    [...operationsOf(described({ get: { responses } })).values()][0]!.promisesObject;
  const json = (schema: object) => ({ description: '', content: { 'application/json': { schema } } });
  const object = { type: 'object' };
  assert.ok(promise({ 200: json(object), 404: json({ type: 'string' }) }));
  const types = { 'application/yaml': {}, 'application/json': { schema: object } };
  assert.ok(promise({ 200: { description: '', content: types }, 201: json(object) }));
  assert.ok(promise({ '2XX': json({ allOf: [{ type: 'object' }, {}] }) }));
  assert.ok(promise({ 200: json({ oneOf: [{ type: 'object' }, { properties: {} }] }) }));
  assert.ok(!promise({ 200: json({ type: 'array' }) }));
  assert.ok(!promise({ 200: json({ type: ['object', 'null'] }) }));
  assert.ok(!promise({ 200: json({ oneOf: [{ type: 'object' }, { type: 'string' }] }) }));
  assert.ok(!promise({ 200: json(object), 204: { description: 'nothing' } }));
  assert.ok(!promise({ 200: { description: '', content: { 'text/plain': { schema: object } } } }));
  assert.ok(!promise({}));
});

test('a parameter has the types that its schema gives it, also behind references', () => {
  const types = (schema: object): unknown => {
    const parameters = [{ name: 'a', in: 'query', schema }];
    const schemas = { Id: { type: 'integer' }, Self: { $ref: '#/components/schemas/Self' } };
    const text = described({ get: { parameters } }, { components: { schemas } });
    return describeApi(text, {}).api.operations[0]?.parameters[0]?.types;
  };
  const ref = (name: string): object => ({ $ref: `#/components/schemas/${name}` });
  for (const [schema, expected] of [
    [{ type: 'string' }, ['string']],
    [{ type: ['integer', 'null'] }, ['integer', 'null']],
    [ref('Id'), ['integer']],
    [{ allOf: [{ description: 'An id.' }, ref('Id')] }, ['integer']],
    [ref('Self'), undefined],
    [{ enum: ['a', 1] }, undefined],
    [{ type: 'datetime' }, undefined],
    [{ type: [] }, undefined],
    [{}, undefined],
  ] as const)
    assert.deepEqual(types(schema), expected, JSON.stringify(schema));
});
