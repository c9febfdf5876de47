import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { forgetSecrets, rememberSecrets } from './knownSecrets.ts';
import { createLogger } from './logger.ts';
import { MemoryDestination } from './memory.testing.ts';

const token = `${btoa('{"alg":"RS256","kid":"k"}')}.${btoa('{"sub":"someone"}').replaceAll('=', '')}.c2lnbmF0dXJl`;

const capture = (format: 'json' | 'text') => {
  const destination = new MemoryDestination();
  return { destination, log: createLogger({ level: 'info', format, destination }) };
};

test('a JSON line has time, level, message and the fields of the logger and the call', () => {
  const { destination, log } = capture('json');
  log.child({ target: 'everything' }).warn('child ended', { code: 1, signal: null, gone: undefined });
  const line = JSON.parse(destination.lines[0] ?? '');
  assert.match(line.time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  delete line.time;
  assert.deepEqual(line, {
    level: 'warn',
    message: 'child ended',
    target: 'everything',
    code: 1,
    signal: null,
  });
  log.close();
});

test('a text line is time, level, message and key=value, with quotes where they are needed', () => {
  const { destination, log } = capture('text');
  log.error('cannot read keys', {
    url: 'http://127.0.0.1:1/keys',
    reason: 'connect "refused" = no',
    tries: 3,
  });
  assert.match(
    destination.text,
    /^\S+Z ERROR cannot read keys url=http:\/\/127\.0\.0\.1:1\/keys reason="connect \\"refused\\" = no" tries=3\n$/,
  );
  log.close();
});

test('a peer cannot forge a line or send escapes to the terminal', () => {
  for (const format of ['json', 'text'] as const) {
    const { destination, log } = capture(format);
    log.info('stderr: a\nb \u001b[31mred\u009b', { text: 'x\r\ny\u001b]0;title\u0007' });
    assert.equal(destination.lines.length, 1);
    assert.doesNotMatch(destination.lines[0] ?? '', /[\u0000-\u001f]/);
    log.close();
  }
});

test('credentials are replaced wherever they stand', () => {
  for (const format of ['json', 'text'] as const) {
    const { destination, log } = capture(format);
    log.info(`refused ${token}`, {
      authorization: 'Basic dXNlcjpwYXNzd29yZA==',
      clientSecret: 'hunter2hunter2',
      header: 'bearer opaque-token-of-a-kind',
      note: `a JWS ${token}, cut`,
      host: 'everything.tools.svc.cluster.local',
    });
    assert.doesNotMatch(destination.text, /eyJ|dXNlcjpw|hunter2|opaque-token/);
    assert.match(destination.text, /everything\.tools\.svc\.cluster\.local/);
    log.close();
  }
});

test('a field cannot replace the level, the time or the message of a JSON line', () => {
  const { destination, log } = capture('json');
  log.info('real', { message: 'fake', level: 'error', time: 'never' });
  const line = JSON.parse(destination.text);
  assert.deepEqual([line.message, line.level], ['real', 'info']);
  assert.deepEqual([line.message_, line.level_, line.time_], ['fake', 'error', 'never']);
  log.close();
});

test('any field makes a JSON line of its own, level and time first, the message last', () => {
  const { destination, log } = capture('json');
  log.info('a "b"\\\ud800', {
    '7': Infinity,
    'x"y': '\ud800\u2028',

    level_: 1,
    level: 2,
  });
  const [line = ''] = destination.lines;
  assert.deepEqual(Object.entries(JSON.parse(line)).slice(3), [
    ['x"y', '\ud800\u2028'],
    ['level_', 2],
    ['message', 'a "b"\\\ud800'],
  ]);
  assert.match(line, /^\{"level":"info","time":"[^"]+","7":null,/);
  log.close();
});

test('format directives in a message are text', () => {
  const { destination, log } = capture('json');
  log.info('100%s of %d %j %%', { n: 1 });
  assert.equal(JSON.parse(destination.text).message, '100%s of %d %j %%');
  log.close();
});

test('a level change reaches children that exist already', () => {
  const { destination, log } = capture('text');
  const child = log.child({ room: 'mcp' });
  child.debug('unseen');
  log.setLevel('debug');
  child.debug('seen');
  assert.equal(log.level, 'debug');
  log.setLevel('error');
  child.warn('unseen again');
  assert.deepEqual(
    destination.lines.map((line) => line.slice(25)),
    ['DEBUG seen room=mcp'],
  );
  log.close();
});

test('a long value is cut', () => {
  const { destination, log } = capture('text');
  log.info('stderr', { line: 'x'.repeat(1_000_000) });
  assert.ok(destination.text.length < 9_000);
  assert.match(destination.text, /1000000 characters/);
  log.close();
});

test('the last line before an abrupt exit is written', async () => {
  const script = `
    import { createLogger } from ${JSON.stringify(new URL('logger.ts', import.meta.url).href)};
    const log = createLogger({ level: 'info', format: 'json', destination: 1 });
    for (let i = 0; i < 5000; i++) log.info('line', { i });
    process.exit(3);
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number];
  assert.equal(code, 3);
  assert.equal(JSON.parse(text.trimEnd().split('\n').at(-1) ?? '').i, 4_999);
});

test('no part of a secret stands where a long value is cut', () => {
  const { destination, log } = capture('json');
  const secret = `S3cr3t${'k'.repeat(57)}Z`;
  rememberSecrets([secret]);
  const long = `${'x'.repeat(8_192 - 63)}${secret}`;
  log.info(long, { long });
  forgetSecrets();
  assert.match(destination.text, /redacted\]… \(8193 characters\)/);
  assert.doesNotMatch(destination.text, /S3cr3t/);
  log.close();
});

test('a JSON line has no control characters and no line separators of a peer', () => {
  const { destination, log } = capture('json');
  const nasty = 'a\u009b31m\u007f\u2028b';
  log.info(nasty, { nasty });
  const [line = ''] = destination.lines;
  assert.doesNotMatch(line, /[\u0000-\u001f\u007f-\u009f\u2028]/);
  const { message, nasty: field } = JSON.parse(line);
  assert.deepEqual([message, field], [nasty, nasty]);
  log.close();
});
