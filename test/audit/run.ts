/**
 * `npm run audit:load [-- --rate 2000 --seconds 60 --required --skip-cost --skip-kill]`: calls at a fixed rate through two workers
 * with an audit chain, and `kill -9` of a worker in the middle. Afterwards the chain must have one known gap and nothing
 * else, and each answered call without a line must belong to that gap. Then it measures the CPU time of a call with and
 * without the stream, at full load and at the rate. It fails where calls of the rate were not answered, or the stream costs
 * more than 10 µs for a call.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { HttpConnection, type HttpAnswer } from '../../bench/mcp/httpConnection.ts';
import { cpuBetween, processTree } from '../../bench/processes.ts';
import type { Spread } from '../../bench/statistics.ts';
import { verifyFiles } from '../../src/audit/index.ts';
import { until } from '../../src/until.testing.ts';
import { startGateway, type GatewayProcess } from '../e2e/gateway.testing.ts';
import { revision } from '../e2e/session.testing.ts';
import { inline } from '../e2e/stage.testing.ts';
import { costOfPairs, inTurns, streamCost, type Costs, type StreamCost } from './cost.ts';

const { values } = parseArgs({
  options: {
    rate: { type: 'string', default: '2000' },
    seconds: { type: 'string', default: '60' },
    connections: { type: 'string', default: '64' },
    required: { type: 'boolean', default: false },
    'skip-cost': { type: 'boolean', default: false },
    'skip-kill': { type: 'boolean', default: false },
  },
});
const rate = Number(values.rate);
const seconds = Number(values.seconds);
const connections = Number(values.connections);
const tickMs = 10;
const answerMs = 3_000;
/** Share of the calls that must be answered, and the most that the stream may add to a call, in microseconds. */
const leastAnswered = 0.98;
const mostCost = 10;
/** Lines of the last moments before a kill may be lost: the time to gather lines, and a write. */
const gapMs = 1_000;
/** Pairs of gateways at the rate, and the rounds of each. */
const pairsAtRate = 4;
const roundsAtRate = 30;
/** A gateway compiles its code during so many seconds with so many calls each. */
const warmSeconds = 15;
const warmRate = 5_000;
/** Short ones: an idle gateway gives memory and code back, and others on the machine change the cost for both alike. */
const sampleSeconds = 1;
const serverProgram = fileURLToPath(new URL('../../bench/mcp/echo-http-server.mjs', import.meta.url));

interface Answered {
  readonly id: number;
  readonly at: number;
}

/** A client with a session and a connection. It begins a lost session anew. */
class Client {
  private readonly gateway: GatewayProcess;
  private connection: HttpConnection;
  private session = '';
  busy = false;

  constructor(gateway: GatewayProcess) {
    this.gateway = gateway;
    this.connection = new HttpConnection(gateway.ports[0]!);
  }

  /** Opens a session over the connection of its calls, so that one worker has both. */
  async begin(): Promise<void> {
    this.session = '';
    const clientInfo = { name: 'load', version: '1' };
    const params = { protocolVersion: revision, capabilities: {}, clientInfo };
    const opened = await this.post({ id: 'opening', method: 'initialize', params });
    this.session = opened.headers.get('mcp-session-id') ?? '';
    await this.post({ method: 'notifications/initialized' });
  }

  /** @returns whether the call got its result */
  async call(id: number): Promise<boolean> {
    this.busy = true;
    try {
      const params = { name: 'echo', arguments: { message: 'hello', options: { depth: 2 } } };
      // A connection that ended while it was idle answers nothing.
      const late = delay(answerMs, undefined, { ref: false });
      const answer = await Promise.race([this.post({ id, method: 'tools/call', params }), late]);
      if (answer === undefined) throw new Error('no answer');
      const { status } = answer;
      if (status === 404) await this.begin();
      return status === 200;
    } catch {
      this.connection.close();
      this.connection = new HttpConnection(this.gateway.ports[0]!);
      return false;
    } finally {
      this.busy = false;
    }
  }

  private post(message: object): Promise<HttpAnswer> {
    const body = JSON.stringify({ jsonrpc: '2.0', ...message });
    const session =
      this.session === '' ? '' : `mcp-session-id: ${this.session}\r\nmcp-protocol-version: ${revision}\r\n`;
    return this.connection.send(
      `POST /mcp HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n${session}content-length: ${body.length}\r\n\r\n${body}`,
    );
  }

  close(): void {
    this.connection.close();
  }
}

interface Load {
  readonly answered: readonly Answered[];
  readonly failed: number;
  /** Calls that no client was free for: the machine was too slow. */
  readonly late: number;
}

/** Clients with a session each. */
async function clientsOf(gateway: GatewayProcess): Promise<readonly Client[]> {
  const clients = Array.from({ length: connections }, () => new Client(gateway));
  for (const client of clients) await client.begin();
  return clients;
}

/** Drives calls at a fixed rate. @param at runs once, after half of the time */
async function drive(
  clients: readonly Client[],
  callsPerSecond: number,
  forSeconds: number,
  at?: () => void,
): Promise<Load> {
  const answered: Answered[] = [];
  let failed = 0;
  let late = 0;
  let sent = 0;
  let next = 0;
  let half = at;
  const start = performance.now();
  while (performance.now() - start < forSeconds * 1_000) {
    const elapsed = performance.now() - start;
    if (half !== undefined && elapsed > forSeconds * 500) {
      half();
      half = undefined;
    }
    for (const due = Math.floor((elapsed / 1_000) * callsPerSecond); sent < due; sent++) {
      let client: Client | undefined;
      for (let i = 0; i < clients.length && client === undefined; i++) {
        next = (next + 1) % clients.length;
        if (clients[next]?.busy === false) client = clients[next];
      }
      if (client === undefined) {
        late++;
        continue;
      }
      const id = sent;
      void client.call(id).then((ok) => {
        if (ok) answered.push({ id, at: Date.now() });
        else failed++;
      });
    }
    await delay(tickMs);
  }
  while (clients.some(({ busy }) => busy)) await delay(tickMs);
  return { answered, failed, late };
}

async function freePort(): Promise<number> {
  const holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  const { port } = holder.address() as AddressInfo;
  holder.close();
  await once(holder, 'close');
  return port;
}

const answers = (url: string): Promise<boolean> =>
  fetch(url).then(
    () => true,
    () => false,
  );

const folder = mkdtempSync(join(tmpdir(), 'portcullis-audit-load-'));
const file = join(folder, 'audit.jsonl');
const keyFile = join(folder, 'key');
const checkpointFile = join(folder, 'checkpoints.jsonl');
writeFileSync(keyFile, 'a key of the load test, and of nothing else');
const serverPort = await freePort();
const server = spawn(process.execPath, [serverProgram, String(serverPort)], { stdio: 'inherit' });
await until('the server answers', () => answers(`http://127.0.0.1:${serverPort}/`));

const audit = {
  sink: { file: { path: file } },
  chain: { key: { file: keyFile }, checkpoints: { file: checkpointFile }, checkpointInterval: '1s' },
  required: values.required,
};
const gatewayWith = (config: object): Promise<GatewayProcess> =>
  startGateway(`
config: ${inline({ logging: { accessLog: 'none' }, ...config })}
mcp:
  port: 0
  targets: ${inline([{ name: 'echo', mcp: { host: `http://127.0.0.1:${serverPort}/mcp` } }])}
`);

/** @returns what is wrong */
async function killedWorker(): Promise<string[]> {
  const wrong: string[] = [];
  await using gateway = await gatewayWith({ workers: 2, audit });
  let killedAt = 0;
  const clients = await clientsOf(gateway);
  const load = await drive(clients, rate, seconds, () => {
    const worker = gateway.children().find(({ command }) => command.includes('worker'));
    if (worker === undefined) throw new Error('there is no worker');
    killedAt = Date.now();
    process.kill(worker.pid, 'SIGKILL');
  });
  for (const client of clients) client.close();
  await gateway.stop();
  const { answered, failed, late } = load;
  console.log(
    `${answered.length} calls answered (${Math.round(answered.length / seconds)}/s), ${failed} failed, ${late} not sent for lack of a free client`,
  );
  if (answered.length / seconds < leastAnswered * rate)
    wrong.push(`${Math.round(answered.length / seconds)} calls a second were answered, expected ${rate}`);
  const found = await verifyFiles({
    files: [file],
    key: readFileSync(keyFile),
    checkpoints: [checkpointFile],
    partial: false,
  });
  for (const { message } of found.problems.slice(0, 5)) wrong.push(message);
  const gaps = found.gaps.map(({ writer, kind, seq }) => `${writer} ${kind} after line ${seq}`);
  console.log(
    `${found.lines} lines, ${found.epochs.length} epochs, ${found.problems.length} problems, ${found.checkpoints} checkpoints, ${found.unfinished} unfinished; gaps: ${gaps.join(', ')}`,
  );
  if (found.gaps.length !== 1 || found.gaps[0]?.kind !== 'end')
    wrong.push(`expected one gap, got ${gaps.join(', ')}`);
  const recorded = new Set<number>();
  for (const [, id] of readFileSync(file, 'utf8').matchAll(
    /"api\.operation":"tools\/call".*?"mcp\.id":"(\d+)"/g,
  ))
    recorded.add(Number(id));
  const missing = answered.filter(({ id }) => !recorded.has(id));
  const outside = missing.filter(({ at }) => at > killedAt + gapMs || at < killedAt - gapMs);
  const earliest = Math.min(...missing.map(({ at }) => at - killedAt), 0);
  console.log(
    `${missing.length} answered calls without a line, the earliest ${-earliest} ms before the kill`,
  );
  if (outside.length > 0)
    wrong.push(`${outside.length} answered calls without a line are outside of the gap`);
  if (values.required && missing.length > 0) wrong.push('answered calls have no intent');
  return wrong;
}

/** Measures a call at the rate in two gateways that take turns. */
async function costsAtRate(): Promise<Costs[]> {
  await using off = await gatewayWith({ workers: 2 });
  await using on = await gatewayWith({ workers: 2, audit });
  const gateways = { off: await clientsOf(off), on: await clientsOf(on) };
  for (const clients of Object.values(gateways)) await drive(clients, warmRate, warmSeconds);
  const costs = await inTurns(roundsAtRate, gateways, async (clients) => {
    const { pid } = clients === gateways.on ? on : off;
    const before = processTree(pid);
    const { answered } = await drive(clients, rate, sampleSeconds);
    return cpuBetween(before, processTree(pid)) / answered.length;
  });
  for (const client of Object.values(gateways).flat()) client.close();
  return costs;
}

/** @returns what is wrong */
function judged(when: string, { off, on, more }: StreamCost): string[] {
  console.log(
    `CPU time of a call ${when}: ${shown(off)} µs without the stream, ${shown(on)} µs with it: ${shown(more)} µs more`,
  );
  return more.median <= mostCost
    ? []
    : [`${when}, a call costs ${more.median.toFixed(1)} µs more, expected at most ${mostCost}`];
}

/** The median, and the least and the most. */
const shown = ({ median, min, max }: Spread): string =>
  `${median.toFixed(1)} (${min.toFixed(1)} to ${max.toFixed(1)})`;

try {
  const wrong = values['skip-kill'] ? [] : await killedWorker();
  if (!values['skip-cost']) {
    wrong.push(...judged('at full load', await streamCost()));
    wrong.push(...judged(`at ${rate} calls a second`, await costOfPairs(pairsAtRate, costsAtRate)));
  }
  for (const one of wrong) console.error(`wrong: ${one}`);
  process.exitCode = wrong.length === 0 ? 0 : 1;
} finally {
  server.kill();
  rmSync(folder, { recursive: true });
}
