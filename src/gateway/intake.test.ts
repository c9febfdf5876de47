import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoryLog } from '../auth/log.testing.ts';
import { defaults, type Model } from '../model/index.ts';
import { WorkerEndedError, type PlaneView } from '../workers/index.ts';
import { Intake } from './intake.ts';

/** Told apart by the length of their lists of ports. */
const model = (ports: number): Model => ({
  process: defaults,
  binds: Array.from({ length: ports }, () => ({ port: 0, listeners: [] })),
});

const noState: PlaneView = {
  binds: [],
  closedPorts: [],
  brokenRoutes: [],
  certificates: [],
  keySets: [],
  mcp: { sessions: [], children: 0, hidden: [], circuits: [], failedStarts: [] },
  workers: [],
};

/** An intake before a plane that takes what it is given when the test says so. */
function stage(
  free = (): Promise<void> | undefined => undefined,
  brokenRoutes: PlaneView['brokenRoutes'] = [],
) {
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
      view: () => Promise.resolve({ ...noState, brokenRoutes }),
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

test('the newest of several waiting configurations is applied next', async () => {
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

test('a rejected configuration leaves the previous one in use, and its problem until the next one is applied', async () => {
  const { intake, last, log } = stage();
  intake.begin(model(1), []);
  intake.offer(model(2), []);
  await turn();
  last().refuse(new Error('port 80 cannot be bound'));
  await intake.settled;
  const problem = 'gateway.yaml: port 80 cannot be bound';
  assert.deepEqual([intake.model, intake.state.problems], [model(1), [problem]]);
  assert.deepEqual(log(), [`Configuration rejected; the previous configuration stays in use ${problem}`]);
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

test('the one in use that comes again is applied again while a route is closed', async () => {
  const { intake, asked, last } = stage(undefined, [{ route: 'secure', problem: 'there is no such file' }]);
  intake.begin(model(1), []);
  intake.offer(model(1), []);
  await turn();
  assert.deepEqual(asked(), [1]);
  last().take();
  await intake.settled;
  assert.deepEqual(intake.state.problems, []);
});

test('a configuration that arrives during the first one is applied after it, or its problem is reported', async () => {
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

test('the problem of the newest configuration stays reported while an older one is applied or rejected', async () => {
  const { intake, last, log } = stage();
  const broken = 'gateway.yaml:1:1: unknown field';
  intake.begin(model(1), []);
  intake.offer(model(2), []);
  await turn();
  intake.refuse([broken]);
  last().take();
  await intake.settled;
  assert.deepEqual([intake.model, intake.state.problems], [model(2), [broken]]);
  intake.offer(model(3), []);
  await turn();
  intake.refuse([broken]);
  last().refuse(new Error('port 80 cannot be bound'));
  await intake.settled;
  assert.deepEqual([intake.model, intake.state.problems], [model(2), [broken]]);
  assert.match(log().at(-1) ?? '', /port 80 cannot be bound/);
});

test('a configuration that ends a worker is rejected, and retried once when all workers serve again', async () => {
  const { intake, asked, last, log } = stage();
  intake.begin(model(1), []);
  intake.offer(model(2), []);
  await turn();
  const whole = Promise.withResolvers<void>();
  last().refuse(new WorkerEndedError(whole.promise));
  await turn();
  const problem = 'gateway.yaml: a worker has ended while it prepared this configuration';
  assert.deepEqual([asked(), intake.model, intake.state.problems], [[2], model(1), [problem]]);
  whole.resolve();
  await turn();
  assert.deepEqual(asked(), [2, 2]);
  // It dies of it again.
  last().refuse(new WorkerEndedError(Promise.resolve()));
  await turn();
  assert.deepEqual([asked(), intake.model, intake.state.problems], [[2, 2], model(1), [problem]]);
  assert.equal(log().filter((line) => line.includes('rejected; the previous configuration stays')).length, 2);

  // Each has a second try of its own, also the same once more.
  intake.offer(model(2), []);
  await turn();
  last().refuse(new WorkerEndedError(Promise.resolve()));
  await turn();
  assert.deepEqual(asked(), [2, 2, 2, 2]);
  last().take();
  await intake.settled;
  assert.deepEqual([intake.model, intake.state.problems], [model(2), []]);
});

test('an outdated configuration is not retried, and nothing is retried after shutdown', async () => {
  const afterwards: readonly ((intake: Intake) => void)[] = [
    (intake) => intake.offer(model(3), []),
    (intake) => intake.refuse(['gateway.yaml:1:1: unknown field']),
    (intake) => intake.close(),
  ];
  for (const happens of afterwards) {
    const { intake, asked, last } = stage();
    intake.begin(model(1), []);
    intake.offer(model(2), []);
    await turn();
    const whole = Promise.withResolvers<void>();
    last().refuse(new WorkerEndedError(whole.promise));
    await turn();
    happens(intake);
    whole.resolve();
    await turn();
    assert.equal(asked().filter((ports) => ports === 2).length, 1);
  }
});

test('no configuration is applied while the intake is held, or after shutdown', async () => {
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
  last().refuse(new Error('the gateway is shutting down'));
  await intake.settled;
  assert.deepEqual([asked(), intake.model, log()], [[2], model(1), []]);
});
