/** A rule on a path holds for every spelling of it: the table of docs/routing.md, on the wire. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { TestPlane } from './dataPlane.testing.ts';
import { get, ok, RawBackend, status } from './wire.testing.ts';

async function withGuard(
  body: (code: (path: string) => Promise<number>, seen: () => string[]) => Promise<void>,
) {
  const backend = await RawBackend.start({ onRequest: (_request, connection) => connection.send(ok('x')) });
  const plane = await TestPlane.start({
    routes: [
      { prefix: '/admin', policies: { directResponse: { status: 403, body: 'no', headers: {} } } },
      { prefix: '/', to: backend.port },
    ],
  });
  try {
    await body(
      async (path) => status(await plane.ask(get(path))),
      () => backend.requests.map(({ start }) => start.split(' ')[1] ?? ''),
    );
  } finally {
    plane.close();
    await backend.close();
  }
}

test('spellings of a guarded path are guarded, those that hide it refused, others passed on as they are', async () => {
  await withGuard(async (code, seen) => {
    for (const path of [
      '/admin',
      '/admin/',
      '/admin/x',
      '/%61dmin',
      '/%61%64%6D%69%6e/x',
      '/x/../admin',
      '/./admin',
      '/x/%2e%2e/admin',
      '/x/.%2E/admin/y?z',
      '/admin/./x',
      '/admin?a=/..',
    ])
      assert.equal(await code(path), 403, path);
    for (const path of [
      '/../admin',
      '/x/../../admin',
      '/x/..;a/admin',
      '/x/..%2Fadmin',
      '/x%2F../admin',
      '/x/..%5Cadmin',
      '/x\\..\\admin',
      '/%00/../admin',
      '/%zz/../admin',
    ])
      assert.equal(await code(path), 400, path);
    assert.deepEqual(seen(), []);
    const others = ['//admin', '/Admin', '/admin;x=1', '/%2Fadmin', '/adminx', '/admin%2Fx', '/%2561dmin'];
    for (const path of others) assert.equal(await code(path), 200, path);
    assert.deepEqual(seen(), others);
  });
});

test('no path that the backend gets is another spelling of a guarded one', async () => {
  const piece = fc.constantFrom(
    '/',
    'admin',
    '%61dmin',
    'a%64min',
    '..',
    '.',
    '%2e',
    '%2E.',
    '%2f',
    ';',
    'x',
    '%25',
    '%5c',
  );
  await withGuard(async (code, seen) => {
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { minLength: 1, maxLength: 8 }), async (pieces) => {
        const before = seen().length;
        const path = `/${pieces.join('')}`;
        const given = await code(path);
        assert.ok([200, 400, 403].includes(given), `${path}: ${given}`);
        assert.equal(seen().length, given === 200 ? before + 1 : before);
        if (given !== 200) return;
        // What a reader by RFC 3986 makes of it, with a parser that is not ours.
        const [, first] = new URL(
          (seen().at(-1) ?? '').replace(/^\/+/, (slashes) => `http://a${slashes}`),
        ).pathname.split('/');
        assert.notEqual(decodeURIComponent(first ?? ''), 'admin', path);
      }),
      { numRuns: 400 },
    );
  });
});
