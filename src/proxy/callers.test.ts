import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { policySchemas } from '../policies/index.ts';
import { TestPlane } from './dataPlane.testing.ts';
import { get } from './wire.testing.ts';

let plane: TestPlane | undefined;
afterEach(() => plane?.close());

test('a session belongs to the API key and the user that were proven, not only to a token', async () => {
  const apiKey = policySchemas.apiKey.parse({
    keys: [{ key: 'one' }, { key: 'two' }],
    location: { header: { name: 'x-key' } },
  });
  const basicAuth = policySchemas.basicAuth.parse({ htpasswd: 'bob:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=' });
  plane = await TestPlane.start({
    routes: [
      {
        policies: { apiKey, basicAuth },
        handler: (_request, reply, { principal }) => reply.send({ status: 200, body: principal ?? 'nobody' }),
      },
    ],
  });
  const running = plane;
  const principal = async (...headers: string[]): Promise<string> =>
    (await running.ask(get('/', ...headers))).body.toString();
  const bob = 'authorization: Basic Ym9iOnBhc3N3b3Jk';
  const callers = [
    await principal(),
    await principal('x-key: one'),
    await principal('x-key: two'),
    await principal(bob),
    await principal('x-key: one', bob),
  ];
  assert.equal(callers[0], 'nobody');
  assert.equal(new Set(callers).size, callers.length);
  assert.equal(await principal('x-key: one'), callers[1], 'the same caller is the same again');
  assert.equal(running.access.at(3)?.subject, 'bob');
});
