/** The work that a client or the owner of a route can cause has a limit, and an answer tells it. Tried on sockets. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TestPlane } from '../dataPlane.testing.ts';
import { ok, RawBackend, status } from '../wire.testing.ts';

const backendFor = () => RawBackend.start({ onRequest: (_request, connection) => connection.send(ok('x')) });

/** A request with a head of nearly 64 KiB. */
const large = (path: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: a.test\r\nX-Team: ${'a '.repeat(20_000)}\r\nX-List: ${'a,'.repeat(8000)}\r\n\r\n`;

test('a rule on the largest head ends at the budget of the request, and the answer is a refusal', async () => {
  const backend = await backendFor();
  const dear =
    'request.headers["x-list"].split(",").all(x, request.headers["x-team"].replace(" ", "-") != x)';
  const plane = await TestPlane.start({
    routes: [
      ...['allow', 'require'].map((effect) => ({
        prefix: `/${effect}`,
        to: backend.port,
        policies: { authorization: { rules: [{ effect, expression: dear }] } },
      })),
      {
        prefix: '/deny',
        to: backend.port,
        policies: { authorization: { rules: [{ effect: 'deny', expression: `!(${dear})` }] } },
      },
      {
        prefix: '/once',
        to: backend.port,
        policies: {
          authorization: {
            rules: [
              { effect: 'allow', expression: 'request.headers["x-team"].replace(" ", "-").contains("-a-")' },
            ],
          },
        },
      },
    ],
  });
  try {
    for (const path of ['/allow', '/require', '/deny']) {
      assert.equal(status(await plane.ask(large(path))), 403, path);
      const { reason, extra } = plane.access.at(-1) ?? {};
      assert.match(reason ?? '', /^rule: .*1000000 units of work/);
      assert.match(String(extra?.expressionLimit), /1000000 units of work/);
    }
    assert.equal(backend.requests.length, 0);
    assert.equal(status(await plane.ask(large('/once'))), 200);
  } finally {
    plane.close();
    await backend.close();
  }
});

test('regular expressions of routes end at the budget of the request, and other hosts go on', async () => {
  const backend = await backendFor();
  const path = `/${Array.from({ length: 6000 }, (_, i) => ((Math.imul(i, i) >>> 5) ^ (i % 7)) & 1).join('')}`;
  const plane = await TestPlane.start({
    routes: [
      ...Array.from({ length: 20 }, (_, i) => ({
        hostnames: ['slow.test'],
        regex: `.*0.{200}x${i}`,
        to: backend.port,
      })),
      { prefix: '/', hostnames: ['other.test'], to: backend.port },
    ],
  });
  try {
    const ask = async (host: string): Promise<number> =>
      status(await plane.ask(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`));
    assert.equal(await ask('slow.test'), 500);
    assert.equal(await ask('other.test'), 200);
  } finally {
    plane.close();
    await backend.close();
  }
});
