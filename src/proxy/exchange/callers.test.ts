import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { afterEach, test } from 'node:test';
import { policySchemas } from '../../policies/index.ts';
import { TestPlane } from '../dataPlane.testing.ts';
import { get } from '../wire.testing.ts';

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

const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const issuer = 'https://issuer.test';

function token(claims: object): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const exp = Math.floor(Date.now() / 1_000) + 600;
  const signed = `${part({ alg: 'ES256', kid: 'k' })}.${part({ iss: issuer, exp, ...claims })}`;
  const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  return `${signed}.${signature.toString('base64url')}`;
}

test('a stream lives as long as its token is accepted: to its end and the leeway after it', async () => {
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'k', alg: 'ES256', use: 'sig' };
  const jwks = { inline: JSON.stringify({ keys: [jwk] }) };
  const jwtValidationOptions = { leeway: '60s' };
  plane = await TestPlane.start({
    routes: [
      {
        policies: {
          jwtAuth: policySchemas.jwtAuth.parse({ mode: 'strict', issuer, jwks, jwtValidationOptions }),
        },
        handler: (_request, reply, { expiresAt }) => reply.send({ status: 200, body: String(expiresAt) }),
      },
    ],
  });
  // The token ended half a minute ago and is accepted for half a minute more.
  const exp = Math.floor(Date.now() / 1_000) - 30;
  const answer = await plane.ask(get('/', `authorization: Bearer ${token({ sub: 'alice', exp })}`));
  assert.equal(answer.body.toString(), String((exp + 60) * 1_000));
});

test('a token without a subject owns its sessions alone, whatever else it shares with others', async () => {
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'k', alg: 'ES256', use: 'sig' };
  const jwtAuth = policySchemas.jwtAuth.parse({
    mode: 'strict',
    issuer,
    jwks: { inline: JSON.stringify({ keys: [jwk] }) },
  });
  plane = await TestPlane.start({
    routes: [
      {
        policies: { jwtAuth },
        handler: (_request, reply, { principal }) => reply.send({ status: 200, body: principal ?? 'nobody' }),
      },
    ],
  });
  const running = plane;
  const principal = async (bearer: string): Promise<string> =>
    (await running.ask(get('/', `authorization: Bearer ${bearer}`))).body.toString();
  const first = token({ client_id: 'desk', jti: '1' });
  const second = token({ client_id: 'desk', jti: '2' });
  const owners = [
    await principal(first),
    await principal(second),
    await principal(token({ sub: 'desk' })),
    // Made up to look like the owner of another token.
    await principal(token({ sub: (await principal(first)).split('\n').slice(1).join('\n') })),
    await principal(token({ sub: 7, client_id: 'desk' })),
  ];
  assert.equal(new Set(owners).size, owners.length, owners.join(' | '));
  assert.equal(await principal(first), owners[0], 'the same token is the same caller');
  assert.ok(owners.every((owner) => !owner.includes(first)));
  const alice = await principal(token({ sub: 'alice', jti: '1' }));
  assert.equal(await principal(token({ sub: 'alice', jti: '2' })), alice, 'a new token of a subject is, too');
});

test('budgets count a caller by its subject, and by its address where no subject is proven', async () => {
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'k', alg: 'ES256', use: 'sig' };
  const jwtAuth = policySchemas.jwtAuth.parse({
    mode: 'optional',
    issuer,
    jwks: { inline: JSON.stringify({ keys: [jwk] }) },
  });
  plane = await TestPlane.start({
    routes: [
      {
        policies: { jwtAuth },
        handler: (_request, reply, { holder }) => reply.send({ status: 200, body: holder ?? 'nobody' }),
      },
    ],
  });
  const running = plane;
  const holder = async (...headers: string[]): Promise<string> =>
    (await running.ask(get('/', ...headers))).body.toString();
  const bearing = (claims: object): Promise<string> => holder(`authorization: Bearer ${token(claims)}`);
  const anonymous = await holder();
  assert.equal(anonymous, 'address 127.0.0.1');
  const alice = await bearing({ sub: 'alice', jti: '1' });
  assert.equal(await bearing({ sub: 'alice', jti: '2' }), alice, 'a new token of a subject is the same');
  assert.notEqual(await bearing({ sub: 'bob' }), alice);
  assert.notEqual(await bearing({ sub: 'address 127.0.0.1' }), anonymous);
  // A client may get any number of tokens without a subject.
  for (const jti of ['1', '2']) assert.equal(await bearing({ client_id: 'desk', jti }), anonymous);
});
