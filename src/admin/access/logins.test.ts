import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConsoleSessions, sessionLimits } from './consoleSessions.ts';
import { linkLimits, LoginLinks } from './loginLinks.ts';

/** A clock that a test moves. */
const clock = () => {
  const time = { ms: 0 };
  return { time, now: () => time.ms };
};

test('a code works once, and not after its time', () => {
  const { time, now } = clock();
  const links = new LoginLinks(now);
  const used: string[] = [];
  const code = links.make('viewer', () => used.push('used'));
  assert.equal(links.take('another'), undefined);
  assert.equal(links.take(code), 'viewer');
  assert.equal(links.take(code), undefined);
  assert.deepEqual(used, ['used']);
  const late = links.make('operator');
  time.ms += linkLimits.livesMs;
  assert.equal(links.take(late), 'operator', 'the last moment counts');
  const tooLate = links.make('operator');
  time.ms += linkLimits.livesMs + 1;
  assert.equal(links.take(tooLate), undefined);
});

test('of too many codes, the oldest one ends', () => {
  const links = new LoginLinks();
  const codes = Array.from({ length: linkLimits.most + 1 }, () => links.make('viewer'));
  assert.deepEqual(
    codes.map((code) => links.take(code) !== undefined),
    [false, ...Array.from({ length: linkLimits.most }, () => true)],
  );
});

test('a session ends when nobody uses it, and at last in any case', () => {
  const { time, now } = clock();
  const sessions = new ConsoleSessions(now);
  const idle = sessions.begin('viewer');
  const session = sessions.use(idle) ?? assert.fail();
  time.ms += sessionLimits.idleMs + 1;
  assert.equal(sessions.isOpen(session), false);
  assert.equal(sessions.use(idle), undefined);

  const busy = sessions.begin('operator');
  for (let used = 0; used <= sessionLimits.longestMs - sessionLimits.idleMs; used += sessionLimits.idleMs) {
    assert.equal(sessions.use(busy)?.role, 'operator');
    time.ms += sessionLimits.idleMs;
  }
  assert.ok(sessions.use(busy) !== undefined);
  time.ms += 1;
  assert.equal(sessions.use(busy), undefined);
});

test('of too many sessions, the one that was idle for the longest time ends', () => {
  const { time, now } = clock();
  const sessions = new ConsoleSessions(now);
  const [first = '', second = ''] = Array.from({ length: sessionLimits.most }, () => {
    time.ms += 1;
    return sessions.begin('viewer');
  });
  time.ms += 1;
  sessions.use(first);
  sessions.begin('viewer');
  assert.ok(sessions.use(first) !== undefined);
  assert.equal(sessions.use(second), undefined);
});

test('each session has its own token, and ends alone', () => {
  const sessions = new ConsoleSessions();
  const ids = [sessions.begin('viewer'), sessions.begin('viewer')];
  const [one, other] = ids.map((id) => sessions.use(id) ?? assert.fail());
  assert.ok(one !== undefined && other !== undefined);
  assert.notEqual(one.writeToken, other.writeToken);
  sessions.end(one);
  assert.deepEqual([sessions.isOpen(one), sessions.isOpen(other)], [false, true]);
});
