import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { startIssuer } from '../../test/support/issuer.ts';
import type { BenchArguments } from '../arguments.ts';
import { processTree, residentMegabytes } from '../processes.ts';
import { settle } from '../settle.ts';
import { startBeforeHttp, type RunningGateway } from './gateways.ts';
import type { HolderOrders } from './sessionHolder.ts';
import { benchToken } from './run.ts';

/** Memory of the gateway with idle sessions; megabytes. */
export interface SessionsCell {
  readonly title: string;
  readonly sessions: number;
  /** Before the first round. */
  readonly base: number;
  /** With all sessions open, and after all have ended. */
  readonly rounds: readonly { readonly open: number; readonly closed: number }[];
}

/** A principal may hold so many. */
const sessions = 1_000;
const warmSessions = 50;

const endpoints = [
  { path: '/one', title: 'one server over HTTP' },
  { path: '/ten', title: 'ten servers over HTTP' },
] as const;

/** Sessions that are initialized and do nothing, in front of servers over HTTP. */
export async function benchSessions(
  args: BenchArguments,
  directory: string,
  cores: readonly [number, number],
): Promise<SessionsCell[]> {
  await using stack = new AsyncDisposableStack();
  const issuer = await startIssuer();
  stack.defer(() => issuer.close());
  const token = await benchToken(issuer);
  const cells: (Omit<SessionsCell, 'rounds'> & {
    rounds: { open: number; closed: number }[];
    gateway: RunningGateway;
    holder: Holder;
  })[] = [];
  for (const { path, title } of endpoints) {
    const gateway = await startBeforeHttp(
      { directory, issuer, token, gatewayCore: cores[0], serverCore: cores[1] },
      path,
    );
    for (const program of [gateway.program, ...gateway.beside]) stack.defer(() => program.stop());
    const holder = new Holder(gateway, cores[1]);
    stack.defer(() => holder.stop());
    await holder.order({ open: warmSessions }, warmSessions);
    await holder.order({}, 0);
    cells.push({ title, sessions, base: Number.NaN, rounds: [], gateway, holder });
  }
  const residents = () => cells.map(({ gateway }) => resident(gateway));
  const still = async () => {
    await settle(residents);
    return residents();
  };
  const bases = await still();
  for (let round = 1; round <= Math.min(2, args.rounds); round++) {
    for (const { holder } of cells) await holder.order({ open: sessions }, sessions);
    const open = await still();
    for (const { holder } of cells) await holder.order({}, 0);
    const closed = await still();
    for (const [at, { rounds, title }] of cells.entries()) {
      rounds.push({ open: open[at]!, closed: closed[at]! });
      console.log(
        `sessions ${round} ${title.padEnd(24)} ${bases[at]!.toFixed(1)} MB, open ${open[at]!.toFixed(1)} MB, ` +
          `ended ${closed[at]!.toFixed(1)} MB`,
      );
    }
  }
  return cells.map(({ title, rounds }, at) => ({ title, sessions, base: bases[at]!, rounds }));
}

const resident = ({ program }: RunningGateway) => residentMegabytes(processTree(program.pid));

/** The process that holds sessions at one gateway. */
class Holder {
  readonly #child;
  readonly #lines: AsyncIterator<string>;

  constructor({ url, token }: RunningGateway, core: number) {
    const program = fileURLToPath(new URL('sessionHolder.ts', import.meta.url));
    this.#child = spawn('taskset', ['-c', `${core}`, process.execPath, program], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, BENCH_URL: url, BENCH_TOKEN: token },
    });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  /** @throws Error when another number of sessions is open afterwards */
  async order(orders: HolderOrders, expected: number): Promise<void> {
    this.#child.stdin.write(`${JSON.stringify(orders)}\n`);
    const line: unknown = (await this.#lines.next()).value;
    if (Number(line) !== expected) throw new Error(`${String(line)} of ${expected} sessions are open`);
  }

  stop(): void {
    this.#child.kill();
  }
}
