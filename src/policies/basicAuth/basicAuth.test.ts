import assert from 'node:assert/strict';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { hashSync } from 'bcryptjs';
import { redactDump } from '../../admin/redactDump.ts';
import { maskedFields } from '../../config/index.ts';
import { GatewayError } from '../../errors.ts';
import type { HeaderLine } from '../../http/index.ts';
import { FakeExchange } from '../exchange.testing.ts';
import type { Steps } from '../policy.ts';
import { prepared, toolsWith } from '../tools.testing.ts';
import { decoysOf } from './decoy.ts';
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
  readonly exchange: FakeExchange;
  readonly error: GatewayError | undefined;
}
async function call(steps: Steps, headers: HeaderLine[], remoteAddress = '192.0.2.7'): Promise<Outcome> {
  const exchange = new FakeExchange({ headers, remoteAddress });
  try {
    assert.equal(await steps.onRequest?.(exchange), undefined);
    return { exchange, error: undefined };
  } catch (error) {
    assert.ok(error instanceof GatewayError);
    return { exchange, error };
  }
}

test('a user with the right password comes in, and the backend does not get the password', async () => {
  const steps = open({ htpasswd, mode: 'strict' });
  const { exchange, error } = await call(steps, [...basic('alice:wonder land:1'), ['x-other', '1']]);
  assert.equal(error, undefined);
  assert.equal(exchange.user, 'alice');
  assert.deepEqual(exchange.requestHeaders.apply(exchange.request.headerLines()), [['x-other', '1']]);
  assert.equal((await call(steps, basic('bob:password'))).exchange.user, 'bob');
});

test('a password that was right is judged without a promise from then on', async () => {
  const steps = open({ htpasswd });
  await call(steps, basic('alice:wonder land:1'));
  const exchange = new FakeExchange({ headers: basic('alice:wonder land:1') });
  assert.equal(steps.onRequest?.(exchange), undefined);
  assert.equal(exchange.user, 'alice');
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
      const { exchange, error } = await call(steps, headers);
      assert.equal(error?.code, 'credentials_invalid', JSON.stringify(headers));
      assert.equal(exchange.user, undefined);
      assert.deepEqual(error.headers, [['www-authenticate', 'Basic realm="Team only", charset="UTF-8"']]);
      assert.doesNotMatch(JSON.stringify([error.detail, exchange.annotations]), /alice|bob|nobody|wonder/);
    }
  }
});

test('a request without credentials passes in optional mode only; other schemes are ignored', async () => {
  for (const headers of [[], [['authorization', 'Bearer abc']]] as HeaderLine[][]) {
    const optional = await call(open({ htpasswd }), headers);
    assert.equal(optional.error, undefined);
    assert.ok(optional.exchange.requestHeaders.empty);
    const strict = await call(open({ htpasswd, mode: 'strict' }), headers);
    assert.equal(strict.error?.code, 'credentials_missing');
    assert.equal(strict.error.detail, 'basicAuth, mode strict', 'the log names the policy that refused');
    assert.match(strict.error.headers?.[0]?.[1] ?? '', /^Basic realm="Restricted"/);
  }
});

test('many requests at once with one password wait for one check', async () => {
  const steps = open({ htpasswd: `alice:${hashSync('pw', 10)}` });
  const outcomes = await Promise.all(Array.from({ length: 300 }, () => call(steps, basic('alice:pw'))));
  assert.ok(outcomes.every(({ exchange }) => exchange.user === 'alice'));
});

test('a client that guesses passwords is limited for that user only', async () => {
  const steps = open({ htpasswd: `alice:${hashSync('pw', 4)}\nbob:${hashSync('pw', 4)}` });
  assert.equal((await call(steps, basic('bob:pw'), '198.51.100.1')).exchange.user, 'bob');
  for (const user of ['alice', 'bob', 'stranger']) {
    for (let i = 0; i < 10; i++) {
      const { error } = await call(steps, basic(`${user}:guess ${String(i)}`), '198.51.100.1');
      assert.equal(error?.code, 'credentials_invalid');
    }
    const { error } = await call(steps, basic(`${user}:one more`), '198.51.100.1');
    assert.equal(error?.code, 'too_many_attempts', 'known and unknown users alike');
    assert.match(error.headers?.[0]?.join(': ') ?? '', /^retry-after: \d$/);
  }
  assert.equal(
    (await call(steps, basic('bob:pw'), '198.51.100.1')).exchange.user,
    'bob',
    'a pair that was right before',
  );
  assert.equal(
    (await call(steps, basic('alice:pw'), '198.51.100.2')).exchange.user,
    'alice',
    'another client',
  );
});

test('all addresses of one IPv6 /64 are one client', async () => {
  const steps = open({ htpasswd: `alice:${hashSync('pw', 4)}` });
  const codes: (string | undefined)[] = [];
  for (let i = 0; i < 11; i++)
    codes.push(
      (await call(steps, basic(`alice:guess ${String(i)}`), `2001:db8:0:1::${String(i)}`)).error?.code,
    );
  assert.deepEqual(codes.slice(9), ['credentials_invalid', 'too_many_attempts']);
});

test('a client that fills its share of the queue is sent away, and a right password from elsewhere is checked next', async () => {
  const steps = open({ htpasswd: `alice:${hashSync('pw', 8)}` });
  const order: string[] = [];
  const guesses = Array.from({ length: 200 }, async (_, i) => {
    const { error } = await call(steps, basic(`name ${String(i)}:guess`), '198.51.100.3');
    order.push(error?.code ?? 'let in');
  });
  const right = call(steps, basic('alice:pw'), '198.51.100.4').then(({ exchange }) =>
    order.push(exchange.user ?? 'refused'),
  );
  await Promise.all([...guesses, right]);
  const refused = order.filter((code) => code === 'overloaded');
  // The worker checks one password, and 32 wait.
  assert.equal(refused.length, 200 - 33);
  const checked = order.filter((code) => code !== 'overloaded');
  assert.equal(checked.length, 34);
  assert.ok(checked.indexOf('alice') <= 2, `answered as number ${String(checked.indexOf('alice') + 1)}`);
});

test('unknown names have decoys of all users, each name always the same one', () => {
  const users = new Map(Array.from({ length: 4 }, (_, i) => [`user ${String(i)}`, `hash ${String(i)}`]));
  const decoyFor = decoysOf(users);
  const again = decoysOf(new Map(users));
  const chosen = new Set<string>();
  for (let i = 0; i < 100; i++) {
    const name = `stranger ${String(i)}`;
    assert.equal(decoyFor(name), again(name), 'every process chooses alike');
    chosen.add(decoyFor(name));
  }
  assert.deepEqual([...chosen].toSorted(), [...users.values()]);
});

test('a user database that mixes hash schemes or costs is warned about, without a hash in the warning', () => {
  const tools = toolsWith([]);
  opened.push(prepared(basicAuth, { htpasswd: `a:${hashSync('pw', 4)}\nb:${hashSync('pw', 4)}` }, tools));
  assert.deepEqual(tools.lines, []);
  opened.push(prepared(basicAuth, { htpasswd: `a:${hashSync('pw', 4)}\nb:${hashSync('pw', 5)}` }, tools));
  assert.match(
    JSON.stringify(tools.lines),
    /mixes hash schemes or costs.*bcrypt of cost 4; bcrypt of cost 5/,
  );
  assert.doesNotMatch(JSON.stringify(tools.lines), /\$2/);
});

test('users from a file change with the file; a changed password ends the old one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'htpasswd-'));
  const file = join(folder, 'users');
  writeFileSync(file, `alice:${hashSync('old', 4)}`);
  const steps = open({ htpasswd: { file }, mode: 'strict' });
  assert.equal((await call(steps, basic('alice:old'))).exchange.user, 'alice');
  writeFileSync(`${file}.new`, `alice:${hashSync('new', 4)}`);
  renameSync(`${file}.new`, file);
  // Each look comes from another client, so that none tries too often.
  for (let looks = 1; ; looks++) {
    if ((await call(steps, basic('alice:new'), `203.0.113.${String(looks % 256)}`)).exchange.user === 'alice')
      break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.equal((await call(steps, basic('alice:old'))).error?.code, 'credentials_invalid');
  rmSync(folder, { recursive: true });
});

test('an unusable file refuses every user, also in optional mode', async () => {
  const { error } = await call(open({ htpasswd: { file: '/nowhere/users' } }), []);
  assert.equal(error?.code, 'policy_failed');
});

test('the credentials may stand in another header or in a cookie', async () => {
  const header = open({ htpasswd, authorizationLocation: { header: { name: 'X-Login', prefix: 'Basic ' } } });
  assert.equal((await call(header, [['x-login', `Basic ${encoded('bob:password')}`]])).exchange.user, 'bob');
  const cookie = open({ htpasswd, authorizationLocation: { cookie: { name: 'login' } } });
  const { exchange } = await call(cookie, [['cookie', `a=1; login=${encoded('bob:password')}`]]);
  assert.equal(exchange.user, 'bob');
  assert.deepEqual(exchange.requestHeaders.apply(exchange.request.headerLines()), [['cookie', 'a=1']]);
});

test('a dump of the settings shows no hash', () => {
  const settings = basicAuth.schema.parse({ htpasswd });
  assert.doesNotMatch(
    JSON.stringify(redactDump({ name: 'basicAuth', settings }, maskedFields)),
    /SHA|\$2|alice/,
  );
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
