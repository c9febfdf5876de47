/** A rule on a path holds for every spelling of it: the table of docs/routing.md, on the wire. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { TestPlane } from '../dataPlane.testing.ts';
import { get, ok, RawBackend, status } from '../wire.testing.ts';

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

test('spellings of a guarded path are guarded, those that some read as it refused, others passed on as they are', async () => {
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
      '//admin',
      '/;/admin',
      '/;x/admin/y',
      '/%2Fadmin',
      '/%2fadmin/x',
      '/admin%2Fx',
      '/admin;x=1',
      '/admin%3Bx=1',
      '/;%2Fadmin',
      '/%2F;x//admin?q',
    ])
      assert.equal(await code(path), 400, path);
    assert.deepEqual(seen(), []);
    const others = ['/Admin', '/adminx', '/%2561dmin', '/x//y', '/repos/a%2Fb;v=1', '/x//admin', '/;x'];
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
        // Reads the path by RFC 3986, with a parser that is not ours.
        const [, first] = new URL(
          (seen().at(-1) ?? '').replace(/^\/+/, (slashes) => `http://a${slashes}`),
        ).pathname.split('/');
        assert.notEqual(decodeURIComponent(first ?? ''), 'admin', path);
        // The path as a backend reads it that decodes it, cuts parameters and merges slashes.
        const merged = decodeURIComponent(seen().at(-1) ?? '')
          .replaceAll(/;[^/]*/g, '')
          .split('/')
          .filter((segment) => segment !== '');
        assert.notEqual(merged[0], 'admin', path);
      }),
      { numRuns: 400 },
    );
  });
});

test('an encoded slash stays one where the other readings find the same route, and needs a route where they find none', async () => {
  const backend = await RawBackend.start({ onRequest: (_request, connection) => connection.send(ok('x')) });
  const plane = await TestPlane.start({ routes: [{ prefix: '/repos', to: backend.port }] });
  try {
    assert.equal(status(await plane.ask(get('/repos/group%2Fproject'))), 200);
    assert.equal(status(await plane.ask(get('/repos%2Fgroup'))), 404);
    assert.deepEqual(
      backend.requests.map(({ start }) => start.split(' ')[1]),
      ['/repos/group%2Fproject'],
    );
  } finally {
    plane.close();
    await backend.close();
  }
});

test('a rule about the path judges every reading of it', async () => {
  const backend = await RawBackend.start({ onRequest: (_request, connection) => connection.send(ok('x')) });
  const rules = [
    { effect: 'deny', expression: 'request.path.startsWith("/admin")' },
    { effect: 'deny', expression: 'request.pathAndQuery.startsWith("/hidden/x?")' },
    { effect: 'deny', expression: 'request.uri.endsWith("/secret")' },
  ];
  const plane = await TestPlane.start({
    routes: [{ prefix: '/', to: backend.port, policies: { authorization: { rules } } }],
  });
  try {
    for (const path of ['/admin', '/admin/x', '/admin;x', '/hidden/x?a', '/a/secret'])
      assert.equal(status(await plane.ask(get(path))), 403, path);
    for (const path of [
      '//admin',
      '/;/admin',
      '/%2Fadmin',
      '/;%2Fadmin',
      '/hidden//x?a',
      '/a%2Fsecret',
      '/a/secret;b',
    ])
      assert.equal(status(await plane.ask(get(path))), 400, path);
    const others = ['/a%2Fb', '//a;x/b', '/x/admin%2Fy', '/hidden//y?a'];
    for (const path of others) assert.equal(status(await plane.ask(get(path))), 200, path);
    assert.deepEqual(
      backend.requests.map(({ start }) => start.split(' ')[1]),
      others,
    );
  } finally {
    plane.close();
    await backend.close();
  }
});
