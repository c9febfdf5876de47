/**
 * `npm run bench:viewer -- [--rate 5000] [--seconds 3] [--rounds 7] [--workers 1] [--no-write]`: the cost of one viewer
 * of the requests (`GET /api/v1/requests`, as the page Traffic opens it). Loads with and without a viewer take turns.
 * Writes a section of RESULTS.md that `npm run bench` keeps.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request, type IncomingMessage } from 'node:http';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { freePorts } from '../../test/support/loopback.ts';
import { resultsFile } from '../arguments.ts';
import { startAccount } from '../accounting.ts';
import { openSetting } from '../http/setting.ts';
import { describeMachine, pickCores } from '../machine.ts';
import { startPinned, waitForPort } from '../processes.ts';
import { heading, line, show } from '../report/cells.ts';
import { withViewer } from '../report/kept.ts';
import { spread } from '../statistics.ts';
import type { RateOrder, RateResult } from './load.ts';

const { values } = parseArgs({
  options: {
    rate: { type: 'string', default: '5000' },
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '7' },
    workers: { type: 'string', default: '1' },
    'no-write': { type: 'boolean', default: false },
  },
});
const [rate, seconds, rounds, workers] = [values.rate, values.seconds, values.rounds, values.workers].map(
  Number,
) as [number, number, number, number];
if (![rate, seconds, rounds, workers].every((value) => Number.isInteger(value) && value >= 1)) {
  console.error('--rate, --seconds, --rounds and --workers take whole numbers from 1');
  process.exit(2);
}

const directory = mkdtempSync(join(tmpdir(), 'portcullis-viewer-'));
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
const [load = Number.NaN] = loadavg();
await using stack = new AsyncDisposableStack();
const cores = pickCores();
const setting = await openSetting(directory, cores);
stack.defer(() => setting.close());

const [port] = (await freePorts(1)) as [number];
const adminSocket = join(directory, 'admin.sock');
const config = join(directory, 'viewer.yaml');
writeFileSync(
  config,
  `config: { workers: ${workers}, adminAddr: 'unix:${adminSocket}', statsAddr: off, readinessAddr: off }
binds:
- port: ${port}
  listeners:
  - hostname: api.example.com
    routes:
    - name: orders
      policies: { authorization: { rules: ['request.method == "GET"'] } }
      backends: [{ host: '127.0.0.1:${setting.backendPort}' }]
`,
);
const root = resolve(import.meta.dirname, '../..');
const gateway = startPinned(
  cores[0],
  [process.execPath, join(root, 'bin/portcullis'), 'run', '-f', config],
  join(directory, 'gateway.log'),
);
stack.defer(() => gateway.stop());
await waitForPort(port, gateway);

const sender = spawn(
  'taskset',
  ['-c', `${cores[1]}`, process.execPath, join(import.meta.dirname, 'load.ts'), `${port}`, '/v2/orders'],
  { stdio: ['pipe', 'pipe', 'inherit'] },
);
stack.defer(() => void sender.kill());
const answers = createInterface({ input: sender.stdout })[Symbol.asyncIterator]();
async function send(order: RateOrder): Promise<RateResult> {
  sender.stdin.write(`${JSON.stringify(order)}\n`);
  const { value } = await answers.next();
  return JSON.parse(String(value)) as RateResult;
}

/** A viewer that reads everything. */
async function openViewer(): Promise<{ events: () => number; close: () => void }> {
  const asked = request({ socketPath: adminSocket, path: '/api/v1/requests' }).end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  if (response.statusCode !== 200) throw new Error(`the stream answered ${response.statusCode}`);
  let events = 0;
  response.setEncoding('utf8').on('data', (text: string) => {
    for (let at = text.indexOf('event: request'); at >= 0; at = text.indexOf('event: request', at + 1))
      events++;
  });
  return { events: () => events, close: () => response.destroy() };
}

interface Sample {
  readonly perRequest: number;
  readonly share: number;
  readonly events: number;
}

async function sample(withViewer: boolean): Promise<Sample> {
  const viewer = withViewer ? await openViewer() : undefined;
  // The kept records come first, whatever the load is.
  for (let seen = -1; viewer !== undefined && viewer.events() > seen; await delay(300))
    seen = viewer.events();
  const earlier = viewer?.events() ?? 0;
  const end = startAccount(gateway.pid, setting.backend.pid, cores);
  const { requests, failed } = await send({ rate, seconds });
  const cost = end();
  const events = (viewer?.events() ?? 0) - earlier;
  viewer?.close();
  if (failed > 0) throw new Error(`${failed} requests failed`);
  return {
    perRequest: cost.cpu / requests,
    // The load may have stalled on a busy machine; the share is that at the rate.
    share: (cost.cpu / requests) * (rate / 1e6),
    events: events / cost.seconds,
  };
}

const samples = { without: [] as Sample[], with: [] as Sample[] };
for (const viewer of [false, true, false, true]) await sample(viewer);
for (let round = 0; round < rounds; round++) {
  // Each order comes first in half of the rounds.
  for (const viewer of round % 2 === 0 ? [false, true] : [true, false])
    samples[viewer ? 'with' : 'without'].push(await sample(viewer));
  const [before, after] = [samples.without[round], samples.with[round]];
  console.log(
    `round ${round + 1}: ${before?.perRequest.toFixed(1)} us without, ${after?.perRequest.toFixed(1)} us with a viewer, ${after?.events.toFixed(0)} events/s`,
  );
}
const added = samples.with.map(({ share }, at) => 100 * (share - (samples.without[at]?.share ?? Number.NaN)));
const row = (name: string, of: readonly Sample[]) =>
  line([
    name,
    show(spread(of.map(({ perRequest }) => perRequest)), 1),
    show(spread(of.map(({ share }) => 100 * share)), 1),
    show(spread(of.map(({ events }) => events)), 0),
  ]);
const section = [
  'Written by `npm run bench:viewer`.',
  '',
  `- Date: ${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC`,
  `- Machine: ${describeMachine()}`,
  `- Others on it: load average before the run ${load.toFixed(1)}`,
  `- ${rate} requests/s, ${workers} worker(s), one rule, a backend on the same machine; ${rounds} rounds of ${seconds} s, with and without in turns; a cell is the median, with the range in brackets`,
  '',
  ...heading(['stream of requests', 'CPU us/request', '% of a core', 'events/s']),
  row('closed', samples.without),
  row('one viewer', samples.with),
  '',
  `A viewer adds ${show(spread(added), 1)} % of a core. The goal is 5 %.`,
];
console.log(`\n${section.join('\n')}`);
if (!values['no-write']) {
  const before = existsSync(resultsFile) ? readFileSync(resultsFile, 'utf8') : '# Benchmark results\n';
  writeFileSync(resultsFile, withViewer(before, section));
}
