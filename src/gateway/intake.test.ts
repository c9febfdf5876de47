import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoryLog } from '../auth/log.testing.ts';
import { defaults, type Model } from '../model/index.ts';
import { Intake } from './intake.ts';

/** Told apart by the length of their lists of ports. */
const model = (ports: number): Model => ({
  process: defaults,
  binds: Array.from({ length: ports }, () => ({ port: 0, listeners: [] })),
});

/** An intake before a plane that takes what it is given when the test says so. */
function stage(free = (): Promise<void> | undefined => undefined) {
  const asked: {
    readonly ports: number;
    readonly take: () => void;
    readonly refuse: (why: Error) => void;
  }[] = [];
  const { log, lines } = memoryLog();
  const intake = new Intake({
    source: 'gateway.yaml',
    plane: {
      apply: ({ binds }) =>
        new Promise((resolve, reject) => {
          asked.push({ ports: binds.length, take: resolve, refuse: reject });
        }),
      useAddresses: () => Promise.resolve(),
    },
    log,
    free,
  });
  return {
    intake,
    asked: () => asked.map(({ ports }) => ports),
    last: () => asked.at(-1) ?? assert.fail('nothing was asked'),
    log: () => lines.map(({ message, fields }) => [message, fields['problem']].join(' ').trim()),
  };
}

/** Lets everything happen that needs no answer. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('of configurations that come while another one is taken, the newest follows it', async () => {
  const { intake, asked, last } = stage();
  intake.begin(model(1), []);
  intake.offer(model(2), []);
  await turn();
  intake.offer(model(3), []);
  intake.offer(model(4), ['a warning']);
  await turn();
  assert.deepEqual(asked(), [2]);
  last().take();
  await turn();
  assert.deepEqual(asked(), [2, 4]);
  assert.deepEqual([intake.model, intake.state.warnings], [model(2), []]);
  last().take();
  await intake.settled;
  assert.deepEqual([intake.model, intake.state.warnings], [model(4), ['a warning']]);
});

test('one that is refused leaves the one before it, and its problem until another one is taken', async () => {
  const { intake, last, log } = stage();
  intake.begin(model(1), []);
  intake.offer(model(2), []);
  await turn();
  last().refuse(new Error('port 80 cannot be bound'));
  await intake.settled;
  const problem = 'gateway.yaml: port 80 cannot be bound';
  assert.deepEqual([intake.model, intake.state.problems], [model(1), [problem]]);
  assert.deepEqual(log(), [`configuration refused, the last good one stays ${problem}`]);
  intake.offer(model(3), []);
  await turn();
  last().take();
  await intake.settled;
  assert.deepEqual([intake.model, intake.state.problems], [model(3), []]);
});

test('the one in use that comes again is taken without a change', async () => {
  const { intake, asked } = stage();
  intake.begin(model(1), []);
  intake.refuse(['gateway.yaml:1:1: unknown field']);
  intake.offer(model(1), []);
  await intake.settled;
  assert.deepEqual(asked(), []);
  assert.deepEqual(intake.state.problems, []);
});

test('what comes while the first one comes into use is taken after it, or its problem stays', async () => {
  const { intake, asked, last } = stage();
  intake.offer(model(2), []);
  await turn();
  assert.deepEqual(asked(), []);
  intake.begin(model(1), []);
  await turn();
  assert.deepEqual(asked(), [2]);
  last().take();
  await intake.settled;
  assert.deepEqual(intake.model, model(2));

  const other = stage();
  other.intake.refuse(['gateway.yaml:1:1: unknown field']);
  other.intake.begin(model(1), []);
  assert.deepEqual(other.intake.state.problems, ['gateway.yaml:1:1: unknown field']);
});

test('nothing is taken while it is not free to, nor after the end', async () => {
  const busy = Promise.withResolvers<void>();
  const { intake, asked, last, log } = stage(() => busy.promise);
  intake.begin(model(1), []);
  intake.offer(model(2), []);
  await turn();
  assert.deepEqual(asked(), []);
  busy.resolve();
  await turn();
  assert.deepEqual(asked(), [2]);
  intake.offer(model(3), []);
  intake.close();
  last().refuse(new Error('the gateway ends'));
  await intake.settled;
  assert.deepEqual([asked(), intake.model, log()], [[2], model(1), []]);
});
