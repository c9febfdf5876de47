import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadText } from '../config/index.ts';
import type { Model } from '../model/index.ts';
import { sameModel } from './sameModel.ts';

const route = (i: number): string => `{name: r${i}, backends: [{host: 'a:1'}]}`;
const listener = (from: number, count: number): string =>
  `{name: l${from}, hostname: h${from}.test, routes: [${Array.from({ length: count }, (_, i) => route(from + i)).join(', ')}]}`;
const modelOf = (yaml: string): Model => {
  const result = loadText(yaml, { file: 'x', env: {} });
  assert.ok(result.ok);
  return result.model;
};
const text = `binds: [{port: 1, listeners: [${listener(0, 600)}, ${listener(1000, 3)}]}]`;

test('models are the same where every part is, and another where one differs', async () => {
  assert.equal(await sameModel(modelOf(text), modelOf(text)), true);
  const others = [
    text.replace('port: 1', 'port: 2'),
    text.replace('r599', 'r5990'),
    text.replace(`, ${route(1002)}`, ''),
    text.replace(listener(0, 600), listener(0, 599)).replace(listener(1000, 3), listener(1000, 4)),
    `${text}\nconfig: {limits: {maxRequests: 7}}`,
  ];
  for (const other of others) assert.equal(await sameModel(modelOf(text), modelOf(other)), false);
});
