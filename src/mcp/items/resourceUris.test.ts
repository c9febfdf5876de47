import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readEnvelope } from '../json/envelope.ts';
import { splice } from '../json/scan.ts';
import { uriEdits } from './resourceUris.ts';

/** The result with the URIs of the client. */
function shown(result: string): string {
  const text = `{"jsonrpc":"2.0","id":1,"result":${result}}`;
  const read = readEnvelope(text);
  assert.ok(typeof read !== 'string');
  const edits = uriEdits(text, read.body, (uri) => `files+${uri}`);
  return splice(text, edits).slice(text.indexOf(result), -1);
}

const link = (uri: string): string => `{"type":"resource_link","uri":"${uri}"}`;
const toolResult = (block: string): string => `{"type":"tool_result","content":[${block}]}`;
const result = (...blocks: readonly string[]): string => `{"content":[${blocks.join(',')}]}`;

test('links in a result and in the results of tools that it holds get the URIs of the client', () => {
  assert.equal(
    shown(result(link('file:///a'), toolResult(link('file:///b')))),
    result(link('files+file:///a'), toolResult(link('files+file:///b'))),
  );
});

test('results of tools that a server nests without end are read on the first level only', () => {
  const levels = 20_000;
  const nested = `${'{"type":"tool_result","content":['.repeat(levels)}${link('file:///b')}${']}'.repeat(levels)}`;
  assert.equal(shown(result(link('file:///a'), nested)), result(link('files+file:///a'), nested));
});
