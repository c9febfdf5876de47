import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PersistencePlan } from '../policy.ts';
import { prepared } from '../tools.testing.ts';
import { sessionPersistence } from './index.ts';
import { sessionPersistenceSchema } from './facts.ts';

const plan = (written: object): PersistencePlan | undefined =>
  prepared(sessionPersistence, written).forwarding?.persistence;

test('the plan has the configured values; the default is a session cookie', () => {
  assert.deepEqual(plan({}), {
    name: undefined,
    cookie: { permanent: false, sameSite: 'Lax' },
    absoluteMs: undefined,
    idleMs: undefined,
  });
  assert.deepEqual(
    plan({
      sessionName: 's',
      absoluteTimeout: '1h',
      idleTimeout: '5m',
      cookieConfig: { lifetimeType: 'Permanent', sameSite: 'Strict' },
    }),
    {
      name: 's',
      cookie: { permanent: true, sameSite: 'Strict' },
      absoluteMs: 3_600_000,
      idleMs: 300_000,
    },
  );
  assert.equal(plan({ type: 'Header', sessionName: 'x-session' })?.cookie, undefined);
});

test('settings that cannot work are rejected with their position', () => {
  const cases: [written: object, path: string, message: RegExp][] = [
    [{ cookieConfig: { lifetimeType: 'Permanent' } }, 'cookieConfig.lifetimeType', /needs absoluteTimeout/],
    [{ type: 'Header', cookieConfig: {} }, 'cookieConfig', /belongs to type: Cookie/],
    [{ type: 'Header', sessionName: 'Content-Length' }, 'sessionName', /meaning of its own/],
    [{ type: 'Header', sessionName: 'set-cookie' }, 'sessionName', /meaning of its own/],
    [{ sessionName: '__Host-s' }, 'sessionName', /other rules/],
    [{ sessionName: 'a b' }, 'sessionName', /name of a cookie/],
    [{ sessionName: 'a;b' }, 'sessionName', /name of a cookie/],
    [{ type: 'Query' }, 'type', /Cookie/],
    [{ absoluteTimeout: '0s' }, 'absoluteTimeout', /above zero/],
    [{ cookieConfig: { sameSite: 'None' } }, 'cookieConfig.sameSite', /Lax/],
  ];
  for (const [written, path, message] of cases) {
    const { error } = sessionPersistenceSchema.safeParse(written);
    assert.equal(error?.issues[0]?.path.join('.'), path, JSON.stringify(written));
    assert.match(error?.issues[0]?.message ?? '', message);
  }
});
