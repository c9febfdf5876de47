import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { withoutRoutes, type Model } from '../model/index.ts';
import { Link, LinkClosed } from './link.ts';
import { channel } from './link.testing.ts';
import { IncomingModel, sendRoutes } from './modelTransfer.ts';
import type { RoutesPortion, ToWorker } from './workerMessages.ts';
import { saying, start } from './processTree.testing.ts';
import { until } from '../until.testing.ts';
import { WorkerEndedError } from './workerEndedError.ts';

/** Portions of a model with 600 routes. */
const portions = [256, 256, 88];
const large = (body: string): Model => saying(body, 599);

/** A worker of which only the receiving end is there. */
function receiver(hear: (portion: RoutesPortion) => void | Promise<void> = () => undefined) {
  const [left, right] = channel();
  const arriving = new IncomingModel();
  const lengths: number[] = [];
  new Link<object, Pick<ToWorker, 'routes'>>(right, {
    routes: async (portion) => {
      lengths.push(portion.routes.length);
      await hear(portion);
      arriving.add(portion);
    },
  });
  return { link: new Link<ToWorker, object>(left, {}), arriving, lengths, cut: () => left.cut() };
}

test('a model arrives in portions as it was sent, and a route of two listeners stays one object', async () => {
  const { link, arriving, lengths } = receiver();
  const [bind] = large('new').binds;
  const [listener] = bind?.listeners ?? [];
  assert.ok(bind !== undefined && listener !== undefined);
  const listeners = [listener, { ...listener, name: 'two' }];
  const model = { ...large('new'), binds: [{ ...bind, listeners }] };
  const frame = await sendRoutes(link, withoutRoutes(model));
  const arrived = arriving.whole(structuredClone(frame));
  assert.deepEqual(arrived, model);
  assert.deepEqual(lengths, portions);
  const [a, b] = arrived.binds[0]?.listeners ?? [];
  assert.ok(a !== undefined && b !== undefined && 'routes' in a && 'routes' in b);
  assert.equal(a.routes[599], b.routes[599]);
});

test('a portion is sent when the portion before it was taken over, and not sooner', async () => {
  const taken: PromiseWithResolvers<void>[] = [];
  const { link, lengths } = receiver(() => {
    const next = Promise.withResolvers<void>();
    taken.push(next);
    return next.promise;
  });
  const sent = sendRoutes(link, withoutRoutes(large('new')));
  for (const [index] of portions.entries()) {
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(lengths, portions.slice(0, index + 1));
    taken[index]?.resolve();
  }
  await sent;
});

test('a transfer to a worker that dies fails as that', async () => {
  const { link, lengths, cut } = receiver(({ first }) => {
    if (first > 0) cut();
  });
  await assert.rejects(sendRoutes(link, withoutRoutes(large('new'))), LinkClosed);
  assert.deepEqual(lengths, portions.slice(0, 2));
});

test('a portion out of order is refused, and nothing is kept of its model', () => {
  const { frame, routes } = withoutRoutes(saying('new', 2));
  const arriving = new IncomingModel();
  arriving.add({ first: 0, routes: routes.slice(0, 1) });
  assert.throws(
    () => arriving.add({ first: 2, routes: routes.slice(2) }),
    /begins with route 2 where route 1 was expected/,
  );
  assert.throws(() => arriving.add({ first: 1, routes: routes.slice(1) }), /where route 0 was expected/);
  assert.throws(() => arriving.whole(frame), /route 0 of the model is missing/);
});

test('a model that was given up half-way, or is whole, leaves no route behind for the next one', () => {
  const next = withoutRoutes(saying('next', 1));
  const arriving = new IncomingModel();
  const half = { first: 0, routes: withoutRoutes(saying('half', 5)).routes };
  arriving.add(half);
  arriving.forget();
  assert.throws(() => arriving.whole(next.frame), /route 0 of the model is missing/);
  arriving.add(half);
  arriving.add({ first: 0, routes: next.routes });
  assert.deepEqual(arriving.whole(next.frame), saying('next', 1));
  assert.throws(() => arriving.whole(next.frame), /route 0 of the model is missing/);
});

interface Watch {
  /** Called before a portion goes to a worker, whose link is the second argument. */
  readonly before?: (portion: RoutesPortion, link: unknown) => void | Promise<void>;
  /** Called with the name of a question that a worker has answered. */
  readonly answered?: (name: string, link: unknown) => void;
}

/** Looks at the questions that this process asks its workers. */
function watch(t: TestContext, { before, answered }: Watch): void {
  const original = Link.prototype.ask as unknown as (
    this: unknown,
    name: string,
    question: unknown,
    socket: unknown,
  ) => Promise<unknown>;
  t.mock.method(
    Link.prototype,
    'ask',
    async function (this: unknown, name: string, question: unknown, socket: unknown): Promise<unknown> {
      if (name === 'routes') await before?.(question as RoutesPortion, this);
      const answer = await original.call(this, name, question, socket);
      answered?.(name, this);
      return answer;
    },
  );
}

test('a large model goes to every worker in portions, and requests are answered between them', async (t) => {
  const { tree, ask } = await start(t, 60_000);
  const sent = new Map<unknown, number[]>();
  const answers: string[] = [];
  watch(t, {
    before: async ({ routes }, link) => {
      sent.set(link, [...(sent.get(link) ?? []), routes.length]);
      answers.push(await ask());
    },
  });
  await tree.apply(large('new'));
  assert.deepEqual([...sent.values()], [portions, portions]);
  assert.deepEqual(answers, Array<string>(6).fill('old'));
  for (let i = 0; i < 8; i++) assert.equal(await ask('/598'), 'new 598');
});

test('when a worker dies in the middle of a transfer, the others keep the old model and take the next one', async (t) => {
  const { tree, ask, signal } = await start(t, 60_000);
  // A stopped worker does not answer its first portion.
  const stopped = await signal(1, 'SIGSTOP');
  let killed = false;
  watch(t, {
    before: ({ first }) => {
      if (first === 256) killed ||= process.kill(stopped, 'SIGKILL');
    },
  });
  const refused = await tree.apply(large('new')).catch((error: unknown) => error);
  assert.ok(refused instanceof WorkerEndedError);
  await refused.whole;
  for (let i = 0; i < 8; i++) assert.equal(await ask('/598'), 'old');
  await tree.apply(saying('newer', 300));
  for (let i = 0; i < 8; i++) {
    assert.equal(await ask('/299'), 'newer 299');
    assert.equal(await ask('/598'), 'newer');
  }
});

test('a model that comes while a worker gets its first one waits until that worker serves', async (t) => {
  const { tree, ask, signal } = await start(t, 60_000);
  await tree.apply(large('new'));
  const happened: string[] = [];
  let applied: Promise<void> | undefined;
  watch(t, {
    before: ({ first }) => {
      happened.push(`portion ${first}`);
      // In the middle of the transfer to the worker that starts.
      if (first === 256) applied ??= tree.apply(saying('newer'));
    },
    answered: (name) => {
      if (name === 'start' || name === 'prepare') happened.push(name);
    },
  });
  const killed = await signal(1, 'SIGKILL');
  await until('the replacement', async () => {
    const [first] = (await tree.view()).workers;
    return first?.state === 'serving' && first.pid !== killed;
  });
  await applied;
  assert.deepEqual(happened, [
    ...['portion 0', 'portion 256', 'portion 512', 'start'],
    ...['portion 0', 'portion 0', 'prepare', 'prepare'],
  ]);
  for (let i = 0; i < 8; i++) assert.equal(await ask(), 'newer');
});
