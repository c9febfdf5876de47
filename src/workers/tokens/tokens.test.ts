import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdirSync } from 'node:fs';
import { createServer, connect, type Server, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { GatewayError } from '../../errors.ts';
import type { RateLimitState, TokenLimit } from '../../policies/index.ts';
import { createLogger } from '../../telemetry/index.ts';
import { MemoryDestination } from '../../telemetry/memory.testing.ts';
import { PrivateFolder } from '../privateFolder.ts';
import { TokenThread } from './tokenThread.ts';
import { serveTokens } from './serveTokens.ts';
import { SharedTokens } from './sharedTokens.ts';

const secret = 'the secret of this tree';
const limit: TokenLimit = { maxTokens: 10, tokensPerFill: 1, fillInterval: 3_600_000, maxKeys: 100 };

function stage(t: TestContext) {
  const folder = new PrivateFolder();
  const destination = new MemoryDestination();
  const log = createLogger({ level: 'info', format: 'text', destination });
  const path = folder.socket('tokens');
  t.after(() => {
    folder.remove();
    log.close();
  });
  return {
    path,
    log,
    lines: () => destination.text,
    serve: async () => {
      const server = await serveTokens(path, secret);
      const sockets = new Set<Socket>();
      server.on('connection', (socket) => sockets.add(socket));
      const end = async (): Promise<void> => {
        for (const socket of sockets) socket.destroy();
        if (server.listening) await closed(server);
      };
      t.after(end);
      return { end };
    },
    /** The tokens of a worker. */
    worker: (answerMs = 30_000) => {
      const tokens = new SharedTokens({ where: () => Promise.resolve(path), secret, log, answerMs });
      t.after(() => tokens.close());
      return tokens;
    },
  };
}

const closed = (server: Server): Promise<unknown> => {
  server.close();
  return once(server, 'close');
};

const isUnavailable = (error: unknown): boolean =>
  error instanceof GatewayError && error.code === 'rate_limit_unavailable';

test('tokens that several workers draw at the same time add up to the limit exactly', async (t) => {
  const { serve, worker } = stage(t);
  await serve();
  const workers = Array.from({ length: 4 }, () => worker().open('here', [limit]));
  const standings = await Promise.all(
    workers.flatMap((draws) => Array.from({ length: 50 }, async () => draws.draw(['']))),
  );
  const allowed = standings.filter((state) => state.allowed);
  assert.equal(standings.length, 200);
  assert.deepEqual(
    allowed.map(({ left }) => left).toSorted((a, b) => a - b),
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
    'no two are told the same rest',
  );
  for (const { most, fillMs } of standings) {
    assert.equal(most, 10);
    assert.ok(fillMs > 0 && fillMs <= 3_600_000);
  }
});

test('keys, places and limits are told apart as in one process', async (t) => {
  const { serve, worker } = stage(t);
  await serve();
  const one = { ...limit, maxTokens: 1 };
  const [a, b] = [worker(), worker()];
  const draw = async (tokens: SharedTokens, place: string, limits: TokenLimit[], keys: string[]) => {
    const draws = tokens.open(place, limits);
    const { allowed } = await draws.draw(keys);
    draws.close();
    return allowed;
  };
  assert.equal(await draw(a, 'here', [one], ['x']), true);
  assert.equal(await draw(b, 'here', [one], ['x']), false);
  assert.equal(await draw(b, 'here', [one], ['y']), true);
  assert.equal(await draw(b, 'there', [one], ['x']), true);
  assert.equal(await draw(b, 'here', [{ ...one, fillInterval: 1_000_000 }], ['x']), true);
  // All or none, over processes, too.
  assert.equal(await draw(a, 'both', [one, limit], ['', '']), true);
  assert.equal(await draw(b, 'both', [one, limit], ['', '']), false);
  const rest = (await b.open('both', [one, limit]).draw(['other', ''])) satisfies RateLimitState;
  assert.deepEqual([rest.allowed, rest.left], [true, 0]);
});

test('the death of a worker leaves the buckets as they are', async (t) => {
  const { serve, worker } = stage(t);
  await serve();
  const first = worker();
  for (let i = 0; i < 10; i++) assert.equal((await first.open('here', [limit]).draw([''])).allowed, true);
  first.close();
  assert.equal((await worker().open('here', [limit]).draw([''])).allowed, false);
});

test('requests are refused while the counter does not answer, or after it has gone', async (t) => {
  const { path, worker, lines } = stage(t);
  const heard: { readonly socket: Socket; said: string }[] = [];
  const deaf = createServer((socket) => {
    const one = { socket, said: '' };
    heard.push(one);
    socket.on('data', (bytes: Buffer) => {
      one.said += bytes.toString();
      // The first one waits in vain; of the others this is the end, once they have asked.
      if (heard.indexOf(one) > 0 && one.said.includes('"draw"')) socket.destroy();
    });
  });
  await new Promise<void>((resolve) => void deaf.listen(path, resolve));
  t.after(() => deaf.close());
  const draws = worker(50).open('here', [limit]);
  await assert.rejects(async () => draws.draw(['']), isUnavailable);
  assert.match(lines(), /Rate limit counter unavailable: requests with a rate limit are refused/);

  const patient = worker(60_000).open('here', [limit]);
  await assert.rejects(async () => patient.draw(['']), isUnavailable);
  for (const { socket } of heard) socket.destroy();
});

test('a counter that starts late or restarts serves waiting requests', async (t) => {
  const { serve, worker } = stage(t);
  const draws = worker().open('here', [limit]);
  const early = draws.draw(['']);
  const { end } = await serve();
  assert.equal((await early).left, 9);
  await end();
  await serve();
  for (;;) {
    try {
      assert.equal((await draws.draw([''])).left, 9, 'it has begun anew');
      break;
    } catch (error) {
      assert.ok(isUnavailable(error));
    }
  }
});

test('while the counter is unavailable, a limited number of requests wait, and others are refused at once', async (t) => {
  const { serve, worker } = stage(t);
  const draws = worker(300).open('here', [limit]);
  const refusal = async (): Promise<string | undefined> => {
    try {
      const { left } = await draws.draw(['']);
      return `${left} left`;
    } catch (error) {
      return error instanceof GatewayError ? error.detail : String(error);
    }
  };
  const late = 'the counter does not answer';
  const many = await Promise.all(Array.from({ length: 10_500 }, refusal));
  assert.equal(many.filter((why) => why === late).length, 10_000);
  assert.equal(many.filter((why) => why === 'the counter is not there').length, 500);
  assert.equal(await refusal(), late, 'there is room again');
  await serve();
  let said = await refusal();
  while (said === late) said = await refusal();
  assert.match(said ?? '', /^[1-9] left$/, 'who has given up takes nothing');
});

test('the counter refuses connections without the secret', async (t) => {
  const { path, serve } = stage(t);
  await serve();
  const draw = '{"open":[1,"here",[]],"draw":[[1,1,[""]]]}\n';
  for (const words of [draw, `{"secret":"guess"}\n${draw}`, `{"secret":"${'x'.repeat(300)}`, 'hello\n']) {
    const stranger = connect(path);
    let told = '';
    stranger.on('data', (bytes: Buffer) => (told += bytes.toString()));
    stranger.on('error', () => undefined);
    stranger.write(words);
    await once(stranger, 'close');
    assert.equal(told, '', words);
  }
});

test('a counter that cannot listen is an error each time, until it can', async (t) => {
  const { path, log, lines } = stage(t);
  const missing = join(dirname(path), 'missing');
  const counter = new TokenThread({ path: join(missing, 'tokens.sock'), secret, log });
  t.after(() => counter.close());
  await assert.rejects(counter.where());
  assert.match(lines(), /Rate limit counter failed problem=.*(?:EACCES|ENOENT)/);
  await assert.rejects(counter.where());
  mkdirSync(missing);
  await counter.where();
});

test('the counter is a thread that is started when it is asked for, and again when it has ended', async (t) => {
  const { path, log, worker } = stage(t);
  const counter = new TokenThread({ path, secret, log });
  t.after(() => counter.close());
  assert.equal(existsSync(path), false);
  assert.deepEqual(await Promise.all([counter.where(), counter.where()]), [path, path]);
  assert.equal((await worker().open('here', [limit]).draw([''])).left, 9);
  await counter.close();
  await assert.rejects(counter.where(), /the gateway is shutting down/);
});
