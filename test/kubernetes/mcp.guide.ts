/** Runs `docs/guides/mcp.md` on a cluster, command by command, as it stands. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { answerIn, stepsOf, type Step } from '../support/guide.ts';
import { guideCluster, needsGuideCluster, pageOf } from './guideCluster.testing.ts';

const page = pageOf('mcp.md');

/**
 * The output of `curl -i` is compared by its status and the names of its headers; everything else word for word.
 */
function assertPrinted(output: string, expected: string): void {
  const [got, said] = [answerIn(output), answerIn(expected)];
  if (said === undefined) {
    assert.equal(output.trim(), expected.trim());
    return;
  }
  assert.ok(got !== undefined, output);
  assert.equal(got.status, said.status);
  assert.deepEqual(Object.keys(got.headers).toSorted(), Object.keys(said.headers).toSorted());
  for (const name of ['www-authenticate', 'content-type'])
    assert.equal(got.headers[name], said.headers[name]);
  assert.equal(got.body.trim(), said.body.trim());
}

describe('the guide to an MCP server', needsGuideCluster, () => {
  const cluster = guideCluster(page);

  test('every command works, and answers are as it says', async () => {
    const steps = stepsOf(page, new Set(['containerd', 'status', 'inspector']));
    const printed = await cluster.run(steps);
    const outputOf = (step: Step): string => printed[steps.indexOf(step)] ?? '';
    for (const step of steps) if (step.expected !== undefined) assertPrinted(outputOf(step), step.expected);
    const [call, ...others] = steps.filter(({ fence }) => fence.text.includes('"method":"tools/call"'));
    assert.ok(call !== undefined);
    for (const one of [call, ...others]) assert.match(outputOf(one), /"text":"Echo: hello"/);
    const inspectors = steps.filter(({ fence }) => fence.label === 'inspector');
    assert.ok(inspectors.length > 0);
    for (const one of inspectors) assert.match(outputOf(one), /Echo: hello/);
  });
});
