import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { jsonReply } from './api.testing.ts';
import { call, stage, type Result } from './apiStage.testing.ts';

const word = { type: 'string' };
const query = (name: string, schema: object | undefined, more: object = {}): object => ({
  in: 'query',
  name,
  ...(schema === undefined ? {} : { schema }),
  ...more,
});
const form = (schema: object, encoding: object): object => ({
  content: { 'application/x-www-form-urlencoded': { schema, encoding } },
});

const text = JSON.stringify({
  openapi: '3.1.0',
  info: { title: 'Shop', version: '1' },
  paths: {
    '/orders': {
      get: {
        operationId: 'orders',
        parameters: [
          query('tenant', word),
          query('q', word),
          query('bare', undefined),
          query('filter', { $ref: '#/components/schemas/Filter' }),
          query('more', { type: 'object', additionalProperties: word }),
          query('free', { type: ['object', 'null'] }),
          query('deep', { type: 'object' }, { style: 'deepObject' }),
          { in: 'cookie', name: 'theme', schema: word },
        ],
      },
      post: {
        operationId: 'order',
        requestBody: form(
          {
            type: 'object',
            properties: { tenant: word, q: word, more: { type: 'object' }, deep: { type: 'object' } },
          },
          { q: { style: 'form' }, more: { style: 'form' }, deep: { style: 'deepObject' } },
        ),
      },
    },
  },
  components: {
    schemas: {
      Filter: { allOf: [{ type: 'object', properties: { kind: word } }, { properties: { age: word } }] },
    },
  },
});

/** Calls a tool, and shows the request that the API got, or the refusal. */
async function caller(
  t: TestContext,
): Promise<(tool: string, given: Record<string, unknown>) => Promise<string>> {
  const { api, client: open } = await stage(t, text);
  const client = await open();
  api.answer = () => jsonReply({});
  return async (tool, given) => {
    const before = api.seen.length;
    const { content, isError }: Result = await call(client, tool, given);
    const seen = api.seen[before];
    if (isError === true) {
      assert.equal(seen, undefined);
      return content[0]!.text.replace('Invalid arguments: ', '');
    }
    return [seen?.target, seen?.headers.cookie, seen?.body.toString()].filter(Boolean).join(' ');
  };
}

test('a member of an object cannot stand in for another argument', async (t) => {
  const sent = await caller(t);
  const orders = (given: object): Promise<string> => sent('orders', { query: given });
  for (const name of ['tenant', 'Tenant', 'tenant[]'])
    for (const holder of ['more', 'free'])
      assert.equal(
        await orders({ tenant: 'a', [holder]: { [name]: 'b' } }),
        `query: the member "${name}" of ${holder} would set the argument tenant`,
      );
  assert.equal(
    await orders({ more: { tenant: 'b' } }),
    'query: the member "tenant" of more would set the argument tenant',
  );
  assert.equal(
    await orders({ filter: { kind: 'a' }, more: { kind: 'b' } }),
    'query: the member "kind" of more would set the argument filter',
  );
  assert.equal(
    await orders({ deep: { a: '1', 'a][': '2' } }),
    'deep: the member "a][" has a bracket in its name',
  );
  assert.equal(
    await sent('order', { body: { tenant: 'a', more: { tenant: 'b' } } }),
    'body: the member "tenant" of more would set the argument tenant',
  );
  assert.equal(
    await sent('order', { body: { more: { tenant: 'b' } } }),
    'body: the member "tenant" of more would set the argument tenant',
  );
  assert.equal(
    await sent('order', { body: { other: 'a', more: { other: 'b' } } }),
    'body: the member "other" of more would set the argument other',
  );
});

test('no argument of a form stands in for a member of another one', async (t) => {
  const sent = await caller(t);
  for (const name of ['deep[a]', 'deep[a][]', 'Deep[a]', ' deep[a]'])
    for (const body of [{ deep: { a: '1' }, [name]: '2' }, { [name]: '2' }])
      assert.equal(await sent('order', { body }), `body: ${JSON.stringify(name)} would set a member of deep`);
  assert.equal(
    await sent('order', { body: { deep: { a: '1' }, deeper: '2' } }),
    '/orders deep%5Ba%5D=1&deeper=2',
  );
});

test('an object has only the members that its description has', async (t) => {
  const sent = await caller(t);
  const orders = (given: object): Promise<string> => sent('orders', { query: given });
  assert.equal(await orders({ q: { admin: '1' } }), 'query: q must be string, and is object');
  assert.equal(await orders({ bare: { admin: '1' } }), 'query: bare cannot be an object');
  assert.equal(await orders({ filter: { admin: '1' } }), 'query: filter has no member "admin"');
  assert.equal(
    await sent('orders', { cookie: { theme: { session: 'stolen' } } }),
    'cookie: theme must be string, and is object',
  );
  assert.equal(await sent('order', { body: { q: { admin: '1' } } }), 'body: q cannot be an object');
});

test('described members become names of the query or of the form', async (t) => {
  const sent = await caller(t);
  assert.equal(
    await sent('orders', {
      query: { filter: { kind: 'cat', age: '2' }, more: { x: '1' }, free: { y: '2' }, deep: { z: '3' } },
      cookie: { theme: 'dark' },
    }),
    '/orders?kind=cat&age=2&x=1&y=2&deep%5Bz%5D=3 theme=dark',
  );
  assert.equal(await sent('order', { body: { tenant: 'a', more: { x: '1' } } }), '/orders tenant=a&x=1');
});
