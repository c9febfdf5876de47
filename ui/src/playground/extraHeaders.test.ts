import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouteView } from '../api/types.ts';
import { headersIn } from './extraHeaders.ts';

const open = { authentication: null };
const read = (
  pairs: readonly (readonly [string, string])[],
  route: Pick<RouteView, 'authentication'> = open,
) =>
  headersIn(
    pairs.map(([name, value], id) => ({ id, name, value })),
    route,
  );

test('headers have names in lower case, and blank rows are left out', () => {
  assert.deepEqual(
    read([
      ['X-Team', ' blue '],
      ['', ''],
      ['x-empty', ''],
    ]),
    { 'x-team': 'blue', 'x-empty': '' },
  );
});

test('headers of the session, malformed ones and repeated ones are refused with their name', () => {
  for (const name of ['Mcp-Session-Id', 'mcp-protocol-version', 'MCP-Param-Region', 'Accept', 'content-type'])
    assert.throws(() => read([[name, 'x']]), /: the session writes this header itself/, name);
  assert.throws(() => read([['a b', 'x']]), /“a b” is no name of a header/);
  assert.throws(() => read([['', 'x']]), /is no name of a header/);
  assert.throws(() => read([['x-a', 'x\r\nx-b: y']]), /x-a: a value has ASCII characters only/);
  assert.throws(
    () =>
      read([
        ['x-a', '1'],
        ['X-A', '2'],
      ]),
    /x-a: the header stands there twice/,
  );
});

test('the header of the credential has a field of its own', () => {
  const authentication = {
    header: { name: 'Authorization', prefix: 'Bearer ' },
  } as RouteView['authentication'];
  assert.throws(() => read([['authorization', 'Bearer x']], { authentication }), /into its own field/);
  assert.deepEqual(read([['authorization', 'Bearer x']]), { authorization: 'Bearer x' });
});
