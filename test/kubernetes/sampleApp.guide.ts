/** Runs `docs/guides/sample-app.md` on a cluster, command by command, as it stands: with Helm, and with manifests. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { answerIn, stepsOf } from '../support/guide.ts';
import { guideCluster, needsGuideCluster, pageOf } from './guideCluster.testing.ts';

const page = pageOf('sample-app.md');

describe('the guide to the sample app', needsGuideCluster, () => {
  const cluster = guideCluster(page);

  /** The answer is as the page says: status, headers, and what is in the body, whatever the values of this moment. */
  const assertAnswer = (output: string, expected: string): void => {
    const [got, said] = [answerIn(output), answerIn(expected)];
    assert.ok(got !== undefined && said !== undefined, output);
    assert.equal(got.status, said.status);
    assert.deepEqual(Object.keys(got.headers).toSorted(), Object.keys(said.headers).toSorted());
    assert.equal(got.headers['content-type'], said.headers['content-type']);
    if (said.headers['content-type']?.startsWith('application/json') !== true)
      assert.equal(got.body.trim(), said.body.trim());
    else {
      const headers = ({ body }: { readonly body: string }): Readonly<Record<string, readonly string[]>> =>
        (JSON.parse(body) as { readonly headers: Readonly<Record<string, readonly string[]>> }).headers;
      assert.deepEqual(Object.keys(headers(got)), Object.keys(headers(said)));
      for (const name of ['Accept', 'Host', 'X-Forwarded-Proto'])
        assert.deepEqual(headers(got)[name], headers(said)[name]);
    }
  };

  for (const way of ['helm', 'manifest'])
    test(`every command works, and answers are as it says: ${way}`, async () => {
      const steps = stepsOf(page, new Set(['containerd', 'address', way]));
      const at = steps.findIndex(({ fence }) => fence.label === 'address');
      assert.ok(at > 0);
      // Up to here no load balancer is needed; the page says so, and there is none the first time.
      const without = await cluster.run(steps.slice(0, at));
      for (const [index, { expected }] of steps.slice(0, at).entries())
        if (expected !== undefined) assertAnswer(without[index] ?? '', expected);
      if (way === 'helm') {
        const status = await cluster.run(
          steps.filter(({ fence }) => fence.text.includes('.reason}')).slice(0, 1),
        );
        assert.match(status.join(''), /Accepted True Accepted/);
        assert.match(status.join(''), /Programmed False AddressNotAssigned/);
        cluster.startLoadBalancer();
      }
      const rest = await cluster.run(steps.slice(at));
      const wanted = steps.find(({ expected }) => expected !== undefined)?.expected ?? '';
      assertAnswer(rest[0] ?? '', wanted);
    });
});
