import assert from 'node:assert/strict';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { hashSync } from 'bcryptjs';
import { redactDump } from '../../admin/redactDump.ts';
import { GatewayError } from '../../errors.ts';
import type { HeaderLine } from '../../http/index.ts';
import { FakeExchange } from '../exchange.testing.ts';
import type { Steps } from '../policy.ts';
import { prepared } from '../tools.testing.ts';
import { basicAuth } from './index.ts';

const opened: Steps[] = [];
after(() => {
  for (const steps of opened) steps.close?.();
});
function open(settings: object): Steps {
  const steps = prepared(basicAuth, settings);
  opened.push(steps);
  return steps;
}

const htpasswd = `# users\nalice:${hashSync('wonder land:1', 4)}\nbob:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\n\n`;
const encoded = (pair: string): string => Buffer.from(pair).toString('base64');
const basic = (pair: string): HeaderLine[] => [['Authorization', `Basic ${encoded(pair)}`]];

interface Outcome {
  readonly x: FakeExchange;
  readonly error: GatewayError | undefined;
}
async function call(steps: Steps, headers: HeaderLine[]): Promise<Outcome> {
  const x = new FakeExchange({ headers });
  try {
    assert.equal(await steps.onRequest?.(x), undefined);
    return { x, error: undefined };
  } catch (error) {
    assert.ok(error instanceof GatewayError);
    return { x, error };
  }
}

test('a user with the right password comes in, and the backend does not get the password', async () => {
  const steps = open({ htpasswd, mode: 'strict' });
  const { x, error } = await call(steps, [...basic('alice:wonder land:1'), ['x-other', '1']]);
  assert.equal(error, undefined);
  assert.equal(x.user, 'alice');
  assert.deepEqual(x.requestHeaders.apply(x.request.headerLines()), [['x-other', '1']]);
  assert.equal((await call(steps, basic('bob:password'))).x.user, 'bob');
});

test('a password that was right is judged without a promise from then on', async () => {
  const steps = open({ htpasswd });
  await call(steps, basic('alice:wonder land:1'));
  const x = new FakeExchange({ headers: basic('alice:wonder land:1') });
  assert.equal(steps.onRequest?.(x), undefined);
  assert.equal(x.user, 'alice');
});

test('wrong passwords, unknown users and malformed credentials are refused alike', async () => {
  const steps = open({ htpasswd, realm: 'Team only' });
  const refused: HeaderLine[][] = [
    basic('alice:wrong'),
    basic('alice:'),
    basic('Alice:wonder land:1'),
    basic('nobody:password'),
    // The password of the user whose hash stands in for those of unknown ones.
    basic('nobody:wonder land:1'),
    basic('alice'),
    basic(':x'),
    basic('a\nb:c'),
    [['authorization', 'Basic ???']],
    [['authorization', 'Basic']],
    [['authorization', `Basic ${'A'.repeat(5000)}`]],
    [...basic('bob:password'), ...basic('bob:password')],
  ];
  for (const headers of refused) {
    for (let again = 0; again < 2; again++) {
      const { x, error } = await call(steps, headers);
      assert.equal(error?.code, 'credentials_invalid', JSON.stringify(headers));
      assert.equal(x.user, undefined);
      assert.deepEqual(error.headers, [['www-authenticate', 'Basic realm="Team only", charset="UTF-8"']]);
      assert.doesNotMatch(JSON.stringify([error.detail, x.annotations]), /alice|bob|nobody|wonder/);
    }
  }
});

test('who brings no credentials passes in optional mode only; other schemes are not ours', async () => {
  for (const headers of [[], [['authorization', 'Bearer abc']]] as HeaderLine[][]) {
    const optional = await call(open({ htpasswd }), headers);
    assert.equal(optional.error, undefined);
    assert.ok(optional.x.requestHeaders.empty);
    const strict = await call(open({ htpasswd, mode: 'strict' }), headers);
    assert.equal(strict.error?.code, 'credentials_missing');
    assert.match(strict.error.headers?.[0]?.[1] ?? '', /^Basic realm="Restricted"/);
  }
});

test('many requests at once with one password wait for one check', async () => {
  const steps = open({ htpasswd: `alice:${hashSync('pw', 10)}` });
  const outcomes = await Promise.all(Array.from({ length: 300 }, () => call(steps, basic('alice:pw'))));
  assert.ok(outcomes.every(({ x }) => x.user === 'alice'));
});

test('who guesses faster than passwords can be checked is sent away', async () => {
  const steps = open({ htpasswd: `alice:${hashSync('pw', 8)}` });
  const outcomes = await Promise.all(
    Array.from({ length: 200 }, (_, i) => call(steps, basic(`alice:guess${i}`))),
  );
  const codes = outcomes.map(({ error }) => error?.code);
  assert.equal(codes.filter((code) => code === 'credentials_invalid').length, 128);
  assert.equal(codes.filter((code) => code === 'overloaded').length, 72);
});

test('users from a file change with the file; a changed password ends the old one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'htpasswd-'));
  const file = join(folder, 'users');
  writeFileSync(file, `alice:${hashSync('old', 4)}`);
  const steps = open({ htpasswd: { file }, mode: 'strict' });
  assert.equal((await call(steps, basic('alice:old'))).x.user, 'alice');
  writeFileSync(`${file}.new`, `alice:${hashSync('new', 4)}`);
  renameSync(`${file}.new`, file);
  for (;;) {
    if ((await call(steps, basic('alice:new'))).x.user === 'alice') break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.equal((await call(steps, basic('alice:old'))).error?.code, 'credentials_invalid');
  rmSync(folder, { recursive: true });
});

test('a file that cannot be used lets nobody in, in optional mode neither', async () => {
  const { error } = await call(open({ htpasswd: { file: '/nowhere/users' } }), []);
  assert.equal(error?.code, 'policy_failed');
});

test('the credentials may stand in another header or in a cookie', async () => {
  const header = open({ htpasswd, authorizationLocation: { header: { name: 'X-Login', prefix: 'Basic ' } } });
  assert.equal((await call(header, [['x-login', `Basic ${encoded('bob:password')}`]])).x.user, 'bob');
  const cookie = open({ htpasswd, authorizationLocation: { cookie: { name: 'login' } } });
  const { x } = await call(cookie, [['cookie', `a=1; login=${encoded('bob:password')}`]]);
  assert.equal(x.user, 'bob');
  assert.deepEqual(x.requestHeaders.apply(x.request.headerLines()), [['cookie', 'a=1']]);
});

test('a dump of the settings shows no hash', () => {
  const settings = basicAuth.schema.parse({ htpasswd });
  assert.doesNotMatch(JSON.stringify(redactDump({ name: 'basicAuth', settings })), /SHA|\$2|alice/);
});

test('settings that cannot work are refused without showing a hash', () => {
  const messages = (settings: object): string =>
    (basicAuth.schema.safeParse(settings).error?.issues ?? []).map((issue) => issue.message).join('; ');
  assert.match(messages({ htpasswd: '' }), /empty/);
  assert.match(messages({ htpasswd: 'alice:secret' }), /line 1 .*expected a hash/);
  assert.doesNotMatch(messages({ htpasswd: 'alice:secret' }), /secret|alice/);
  assert.match(messages({ htpasswd: `${htpasswd}alice:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=` }), /twice/);
  assert.match(messages({ htpasswd: 'alice' }), /expected user:hash/);
  assert.match(
    messages({ htpasswd, authorizationLocation: { queryParameter: { name: 'p' } } }),
    /not built yet/,
  );
  for (const wrong of [
    {},
    { htpasswd, realm: 'a"b' },
    { htpasswd, realm: 'a\r\nb' },
    { htpasswd, mode: 'permissive' },
  ])
    assert.equal(basicAuth.schema.safeParse(wrong).success, false, JSON.stringify(wrong));
});
