import assert from 'node:assert/strict';
import type { GatewayProcess } from './gateway.testing.ts';
import { until } from '../../src/until.testing.ts';

/** The surroundings of a walk through an example of a policy. */
export interface PolicyStage {
  readonly gateway: GatewayProcess;
  /** Token of a member of the group. */
  readonly member: string;
  ask(path: string, init?: RequestInit & { token?: string }): Promise<Response>;
}

const statusOf = async (asked: Promise<Response>): Promise<number> => {
  const response = await asked;
  await response.body?.cancel();
  return response.status;
};

const basic = (pair: string) => ({ authorization: `Basic ${Buffer.from(pair).toString('base64')}` });

/** The request that the echo app saw. */
interface Seen {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string[]>>;
}
const seen = async (asked: Promise<Response>): Promise<Seen> => (await (await asked).json()) as Seen;

/** Three requests pass, and the fourth is refused. */
async function threeRequests({ ask }: PolicyStage): Promise<void> {
  const remaining: (string | null)[] = [];
  for (let i = 0; i < 3; i++) {
    const response = await ask('/get');
    assert.equal(response.status, 200);
    await response.body?.cancel();
    assert.equal(response.headers.get('x-ratelimit-limit'), '3');
    remaining.push(response.headers.get('x-ratelimit-remaining'));
  }
  assert.deepEqual(remaining, ['2', '1', '0']);
  const refused = await ask('/get');
  assert.equal(refused.status, 429);
  assert.match(refused.headers.get('retry-after') ?? '', /^\d+$/);
  await refused.body?.cancel();
}

/** A walk for each example of a policy about plain HTTP; `examples.test.ts` takes them. */
export const policyWalks: Readonly<Record<string, (stage: PolicyStage) => Promise<void>>> = {
  'examples/policies/sessionPersistence.yaml': async ({ ask }) => {
    const told = async (path: string, headers: Record<string, string>): Promise<Headers> => {
      const answer = await ask(path, { headers });
      assert.equal(answer.status, 200);
      await answer.body?.cancel();
      return answer.headers;
    };
    const [cookie = ''] = (await told('/get', {})).getSetCookie();
    assert.match(cookie, /^visitor=[\w-]{46}; Path=\/get; HttpOnly; SameSite=Lax; Max-Age=28800$/);
    assert.deepEqual((await told('/get', { cookie: cookie.split(';')[0] ?? '' })).getSetCookie(), []);
    const session = (await told('/anything', {})).get('x-session') ?? '';
    assert.match(session, /^[\w-]{46}$/);
    assert.equal((await told('/anything', { 'x-session': session })).get('x-session'), null);
  },
  'examples/policies/requestRedirect.yaml': async ({ ask, gateway }) => {
    const old = await ask('/old/get?a=b', { redirect: 'manual' });
    assert.equal(old.status, 308);
    assert.equal(old.headers.get('location'), `${gateway.url}/anything/get?a=b`);
    const secure = await ask('/secure/x', { redirect: 'manual' });
    assert.equal(secure.status, 301);
    assert.equal(secure.headers.get('location'), 'https://www.example.com/secure/x');
    assert.equal(await statusOf(ask('/old/get')), 200);
  },
  'examples/policies/urlRewrite.yaml': async ({ ask }) => {
    const { url, headers } = await seen(ask('/api/v1/users?a=b'));
    assert.equal(url, 'http://backend.internal/anything/users?a=b');
    assert.deepEqual(headers['Host'], ['backend.internal']);
    const { headers: own } = await seen(ask('/whoami'));
    assert.match(own['Host']?.[0] ?? '', /^127\.0\.0\.1:\d+$/);
    assert.notDeepEqual(own['X-Forwarded-Host'], own['Host']);
  },
  'examples/policies/basicAuth.yaml': async ({ ask }) => {
    const refused = await ask('/anything');
    assert.equal(refused.status, 401);
    assert.equal(refused.headers.get('www-authenticate'), 'Basic realm="Example", charset="UTF-8"');
    await refused.body?.cancel();
    assert.equal(await statusOf(ask('/anything', { headers: basic('alice:builder') })), 401);
    const { headers } = await seen(ask('/anything', { method: 'POST', headers: basic('alice:wonderland') }));
    assert.equal(headers['Authorization'], undefined);
    assert.equal(await statusOf(ask('/anything', { headers: basic('bob:builder') })), 200);
    assert.equal(await statusOf(ask('/anything', { method: 'POST', headers: basic('bob:builder') })), 403);
  },
  'examples/policies/apiKey.yaml': async ({ ask }) => {
    const withKey = (path: string, key: string) => ask(path, { headers: { 'x-api-key': key } });
    assert.equal(await statusOf(ask('/anything/red')), 401);
    assert.equal(await statusOf(withKey('/anything/red', '5f0e9d3a7c1b48e3')), 401);
    assert.equal((await seen(withKey('/anything/red', '5f0e9d3a7c1b48e2'))).headers['X-Api-Key'], undefined);
    assert.equal(await statusOf(withKey('/anything/blue', '5f0e9d3a7c1b48e2')), 403);
    assert.equal(await statusOf(withKey('/anything/blue', 'c2a98e77d1504b3f')), 200);
  },
  'examples/policies/localRateLimit.yaml': threeRequests,
  'examples/policies/remoteRateLimit.yaml': threeRequests,
  'examples/policies/delay.yaml': async ({ ask }) => {
    const started = performance.now();
    assert.equal(await statusOf(ask('/post', { method: 'POST' })), 200);
    // A timer may be a little early, never by much.
    assert.ok(performance.now() - started > 290);
    assert.equal(await statusOf(ask('/get')), 200);
  },
  'examples/policies/abort.yaml': async ({ ask }) => {
    const statuses = await Promise.all(Array.from({ length: 60 }, () => statusOf(ask('/flaky'))));
    assert.deepEqual(new Set(statuses), new Set([200, 503]));
    assert.equal(await statusOf(ask('/get')), 200);
  },
  'examples/policies/backendAuth.yaml': async ({ ask, member }) => {
    const { headers, url } = await seen(ask('/anything?a=b', { headers: { 'x-api-key': 'forged' } }));
    assert.deepEqual(headers['X-Api-Key'], ['key-of-the-backend']);
    assert.match(url, /\/anything\?a=b$/);
    const { headers: user } = await seen(ask('/user/headers', { token: member }));
    assert.deepEqual(user['Authorization'], [`Bearer ${member}`]);
    assert.equal(await statusOf(ask('/user/headers')), 401);
  },
  'examples/policies/retry.yaml': async ({ ask, gateway }) => {
    const made = () => gateway.metric('portcullis_retries_total', { result: 'made' });
    assert.equal(await statusOf(ask('/status/503')), 503);
    assert.equal(await made(), 2);
    assert.equal(await statusOf(ask('/status/503', { method: 'POST' })), 503);
    assert.equal(await statusOf(ask('/status/409')), 409);
    assert.equal(await made(), 2);
    assert.equal(await statusOf(ask('/status/409', { method: 'PUT', body: 'x' })), 409);
    assert.equal(await made(), 4);
    assert.equal(await statusOf(ask('/get')), 200);
  },
  'examples/policies/requestMirror.yaml': async ({ ask, gateway }) => {
    for (let i = 0; i < 5; i++)
      assert.equal(await statusOf(ask('/post', { method: 'POST', body: 'x' })), 200);
    const sent = () => gateway.metric('portcullis_mirrored_requests_total', { result: 'sent' });
    await until('every copy is counted', async () => ((await sent()) ?? 0) >= 5);
  },
  'examples/policies/buffer.yaml': async ({ ask }) => {
    const upload = (bytes: number): Promise<Response> =>
      ask('/post', { method: 'POST', body: 'x'.repeat(bytes) });
    assert.equal(await statusOf(upload(10_000)), 200);
    assert.equal(await statusOf(upload(10_001)), 413);
    assert.equal((await (await ask('/bytes/200000')).arrayBuffer()).byteLength, 200_000);
  },
};
