/** The documents list policies in the words of the table of policies (`policies/facts.ts`), and in its order. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { factsOf, policiesOn } from '../src/policies/facts.ts';

const page = (name: string): string => readFileSync(new URL(`../docs/${name}`, import.meta.url), 'utf8');

/** The names between backquotes in the part of a page that the pattern finds. */
function namesIn(text: string, part: RegExp): string[] {
  const found = part.exec(text)?.[1];
  assert.ok(found !== undefined, `no part of the page is like ${part}`);
  return Array.from(found.matchAll(/`(\w+)`/g), ([, name = '']) => name);
}

test('the page of all policies has a row for each policy of a route, in the order in which they run', () => {
  const rows = Array.from(
    page('policies/README.md').matchAll(/^\| \[(\w+)\]\(\1\.md\)/gm),
    ([, name]) => name,
  );
  assert.deepEqual(rows, policiesOn('route'));
});

test('the pages of the configuration and of all policies name the policies of a listener', () => {
  const ofListeners = [...policiesOn('listener')];
  const overview = page('policies/README.md');
  assert.deepEqual(namesIn(overview, /`policies` of a route\. (.*?) may be on a listener/), ofListeners);
  const row = /^\| `listeners\[\]\.policies` +\| none +\| (.*): run before/m;
  assert.deepEqual(namesIn(page('configuration.md'), row), ofListeners);
});

test('the page of GatewayPolicies names the policies of requests that they can hold', () => {
  const held = policiesOn('route').filter((name) => factsOf(name)?.fileOnly !== true);
  const named = namesIn(page('gateway-policy.md'), /^\*\*Request policies\*\*: (.*?)\. Each has/m);
  assert.deepEqual(named, held);
});
