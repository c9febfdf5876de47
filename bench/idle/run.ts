import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { BenchArguments } from '../arguments.ts';
import { proxies, type ProxyName, type Running } from '../http/proxies.ts';
import { openSetting } from '../http/setting.ts';
import { small } from '../http/workloads.ts';
import { filesLimit } from '../machine.ts';
import { processTree, residentMegabytes } from '../processes.ts';
import { settle } from '../settle.ts';
import { has } from '../tools.ts';
import type { IdleOrders } from './load.ts';

/** The cost of idle connections for a proxy. */
export interface IdleCell {
  readonly name: ProxyName;
  readonly connections: number;
  /** Resident before the first round, in megabytes. */
  readonly base: number;
  /** For each round: with all connections open, and after all have been closed. */
  readonly rounds: readonly { readonly open: number; readonly closed: number }[];
}

const names = ['portcullis', 'haproxy', 'nginx', 'envoy'] as const;
const wanted = 10_000;

/**
 * The connections that one client may hold at each proxy: portcullis takes half of the files that the system lets it
 * open for clients, and above 80 % of that the address that holds most loses its idle ones.
 */
export const idleConnections = Math.min(wanted, Math.floor(filesLimit() * 0.4) - 200);

/** All proxies at once: this is about memory, and nobody works meanwhile. */
export async function benchIdle(
  args: BenchArguments,
  directory: string,
  cores: readonly [number, number],
): Promise<IdleCell[]> {
  if (!args.wants('idle')) return [];
  await using stack = new AsyncDisposableStack();
  const setting = await openSetting(directory, cores);
  stack.defer(() => setting.close());
  const cells: (Omit<IdleCell, 'rounds'> & { rounds: { open: number; closed: number }[] })[] = [];
  const chosen = names.filter((name) => args.proxies?.includes(name) ?? has(name));
  const open: { running: Running; holder: Holder }[] = [];
  for (const name of chosen) {
    const running: Running = await proxies[name](setting, {});
    const { program } = running;
    if (program !== undefined) stack.defer(() => program.stop());
    const holder = new Holder(running.port, cores[1]);
    stack.defer(() => holder.stop());
    await warm(holder);
    open.push({ running, holder });
  }
  await settle(() => open.map(({ running }) => resident(running)));
  for (const [index, { running }] of open.entries()) {
    const name = chosen[index] ?? 'direct';
    cells.push({ name, connections: idleConnections, base: resident(running), rounds: [] });
  }
  for (let round = 0; round < Math.min(2, args.rounds); round++) {
    for (const { holder } of open) await holder.order({ open: idleConnections });
    await settle(() => open.map(({ running }) => resident(running)));
    const opened = open.map(({ running }) => resident(running));
    for (const { holder } of open) await holder.order({});
    await settle(() => open.map(({ running }) => resident(running)));
    for (const [index, { running }] of open.entries()) {
      cells[index]?.rounds.push({ open: opened[index] ?? Number.NaN, closed: resident(running) });
    }
    for (const { name, base, rounds } of cells) {
      const last = rounds.at(-1);
      console.log(
        `idle ${round + 1} ${name.padEnd(12)} ${base.toFixed(1)} MB, open ${last?.open.toFixed(1)} MB, closed ${last?.closed.toFixed(1)} MB`,
      );
    }
  }
  return cells;
}

/**
 * The allocations of the first requests are no cost of idle connections. They are few: a load would leave memory
 * behind that is free but resident, and hide what connections take.
 */
async function warm(holder: Holder): Promise<void> {
  await holder.order({ open: 200 });
  await holder.order({});
}

const resident = ({ program }: Running) =>
  program === undefined ? Number.NaN : residentMegabytes(processTree(program.pid));

/** The process that holds connections to one proxy. */
class Holder {
  readonly #child;
  readonly #lines: AsyncIterator<string>;

  constructor(port: number, core: number) {
    const program = fileURLToPath(new URL('load.ts', import.meta.url));
    this.#child = spawn('taskset', ['-c', `${core}`, process.execPath, program, `${port}`, small.path], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  /** @throws Error when fewer connections are open than were ordered. */
  async order(orders: IdleOrders): Promise<void> {
    this.#child.stdin.write(`${JSON.stringify(orders)}\n`);
    const line: unknown = (await this.#lines.next()).value;
    const expected = orders.open ?? 0;
    if (Number(line) !== expected) throw new Error(`${String(line)} of ${expected} connections are open`);
  }

  stop(): void {
    this.#child.kill();
  }
}
