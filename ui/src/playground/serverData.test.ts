import assert from 'node:assert/strict';
import { test } from 'node:test';
import { argumentsOf, defaultsOf, itemOptionsOf, optionsOf, textsFor } from './arguments.ts';
import { formOf, textsOf } from './questions.ts';
import { blockIn, promptIn, resourceIn, schemaIn, templateIn, toolIn } from './serverData.ts';

/** Values that a broken server may send in place of any member. */
const odd = [null, true, 7, 'text', [], [null], ['a', 7], {}, { a: 1 }, { a: null }];

test('a tool, prompt or resource keeps what its server says', () => {
  const inputSchema = {
    type: 'object',
    properties: {
      p: { type: 'string', description: 'a word', enum: ['a', 'b'], default: 'a', 'x-mcp-header': 'P' },
      q: { type: 'array', items: { anyOf: [{ const: 1, title: 'one' }] } },
    },
    required: ['p'],
  };
  const tool = toolIn({
    name: 'a',
    title: 'A',
    description: 'x',
    inputSchema,
    annotations: { readOnlyHint: true },
  });
  assert.deepEqual([tool?.title, tool?.description, tool?.annotations], ['A', 'x', { readOnlyHint: true }]);
  const { properties: { p = {}, q = {} } = {}, required } = tool!.inputSchema;
  assert.deepEqual(required, ['p']);
  assert.deepEqual([p.type, p.description, p.default, p['x-mcp-header']], ['string', 'a word', 'a', 'P']);
  assert.deepEqual(
    optionsOf(p)?.map(({ value }) => value),
    ['a', 'b'],
  );
  assert.deepEqual(itemOptionsOf(q), [{ value: '1', label: 'one' }]);
  assert.deepEqual(promptIn({ name: 'p', arguments: [{ name: 'a', required: true }] })?.arguments, [
    { name: 'a', required: true },
  ]);
  assert.equal(resourceIn({ uri: 'a://b', name: 'b' })?.name, 'b');
  assert.equal(templateIn({ uriTemplate: 'a://{b}', name: 'b' })?.uriTemplate, 'a://{b}');
});

test('odd values in place of texts are shown as JSON, and items without a name are left out', () => {
  const tool = toolIn({ name: 'a', title: { x: 1 }, description: { en: 'hi' } });
  assert.deepEqual([tool?.title, tool?.description], ['{"x":1}', '{"en":"hi"}']);
  for (const item of [...odd, { name: 7 }])
    for (const read of [toolIn, promptIn, resourceIn, templateIn]) assert.equal(read(item), undefined);
});

test('null counts as a member that is not there', () => {
  const inputSchema = { properties: { p: { title: null, oneOf: [{ const: 'a', title: null }] } } };
  const tool = toolIn({ name: 'a', title: null, description: null, inputSchema });
  assert.deepEqual([tool?.title, tool?.description], [undefined, undefined]);
  const { p = {} } = tool?.inputSchema.properties ?? {};
  assert.equal(p.title, undefined);
  assert.deepEqual(optionsOf(p), [{ value: 'a', label: 'a' }]);
  assert.equal(resourceIn({ uri: 'a://b', name: 'b', description: null })?.description, undefined);
});

test('a form can be made of every schema, whatever a server sends', () => {
  const schemas = [
    ...odd,
    ...odd.map((value) => ({ properties: value, required: value })),
    ...odd.map((value) => ({ properties: { p: value } })),
    ...['type', 'title', 'description', 'enum', 'oneOf', 'items', 'properties'].flatMap((name) =>
      odd.map((value) => ({ properties: { p: { [name]: value } } })),
    ),
    ...odd.flatMap((value) =>
      [{ enum: value }, { anyOf: value }].map((items) => ({ properties: { p: { type: 'array', items } } })),
    ),
  ];
  for (const given of schemas) {
    const schema = schemaIn(given);
    const shown = JSON.stringify(given);
    for (const { title, description, ...property } of Object.values(schema.properties ?? {})) {
      for (const text of [title, description])
        assert.ok(['string', 'undefined'].includes(typeof text), shown);
      for (const option of [...(optionsOf(property) ?? []), ...(itemOptionsOf(property) ?? [])])
        assert.deepEqual([typeof option.value, typeof option.label], ['string', 'string'], shown);
    }
    assert.equal(schema.required?.includes('p') ?? false, false, shown);
    assert.deepEqual(argumentsOf(schema, textsFor(schema, defaultsOf(schema))), {}, shown);
    assert.ok(formOf({ method: 'elicitation/create', params: { requestedSchema: given } }), shown);
  }
});

test('a part of a result has texts only, whatever a server sends', () => {
  for (const value of [
    ...odd,
    ...odd.flatMap((one) => ['type', 'text', 'data', 'uri'].map((name) => ({ [name]: one }))),
  ])
    for (const text of Object.values(blockIn(value))) assert.equal(typeof text, 'string');
  for (const value of odd)
    for (const messages of [
      value,
      [value],
      [{ role: value, content: value }],
      [{ content: [{ text: value }] }],
    ])
      for (const { role, text } of textsOf({ method: 'sampling/createMessage', params: { messages } }))
        assert.deepEqual([typeof role, typeof text], ['string', 'string'], JSON.stringify(messages));
});
