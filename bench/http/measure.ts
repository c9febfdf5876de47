import { startAccount } from '../accounting.ts';
import { residentMegabytes } from '../processes.ts';
import type { Running } from './proxies.ts';
import type { Row, Table } from './sections.ts';
import type { Setting } from './setting.ts';

/** A load of a row. */
export interface Sample {
  readonly requestsPerSecond: number;
  /** The CPU time of the proxy's process tree; NaN if there is none. */
  readonly cpuPerRequest: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly residentMegabytes: number;
  readonly requests: number;
  readonly failed: number;
  /** Share of the time in which the proxy wanted its core. */
  readonly fullness: number;
  /** Cores that were busy for others meanwhile. */
  readonly foreign: number;
}

/** Requests under way at the same time. */
export const connections = 64;

/** From here on a proxy counts as busy: what it costs then is what it costs under load. */
export const full = 0.9;

/** Above this share of a core used by others a sample is taken again, and not counted where there are better ones. */
export const disturbed = 0.1;

/** Loads a row for some seconds and accounts for it. */
export async function measure(
  setting: Setting,
  running: Running,
  table: Table,
  row: Row,
  seconds: number,
): Promise<Sample> {
  const finish = startAccount(running.program?.pid, setting.backend.pid, setting.cores);
  const result = await table.load({
    ...row.door(running, setting.token),
    workload: table.workload,
    connections,
    core: setting.cores[1],
    seconds,
    ...(row.options.routes === undefined ? {} : { routes: row.options.routes }),
  });
  const cost = finish();
  return {
    requestsPerSecond: result.requests / result.seconds,
    cpuPerRequest: running.program === undefined ? Number.NaN : cost.cpu / result.requests,
    p50: result.p50,
    p99: result.p99,
    residentMegabytes: residentMegabytes(cost.after),
    requests: result.requests,
    failed: result.failed,
    // The generator's own start and end are in the account, too.
    fullness: Math.min(1, (cost.fullness * cost.seconds) / result.seconds),
    foreign: cost.foreign,
  };
}

/**
 * The best of up to so many samples: the first one on a quiet machine. Good is what others did not disturb, and what kept
 * the proxy busy where the table can.
 */
export async function bestOf(
  tries: number,
  table: Table,
  isProxy: boolean,
  take: () => Promise<Sample>,
): Promise<Sample> {
  const faults = ({ foreign, fullness }: Sample) =>
    Math.max(0, foreign - disturbed) + (isProxy && fills(table) ? Math.max(0, full - fullness) : 0);
  let best = await take();
  for (let at = 1; at < tries && faults(best) > 0; at++) {
    const again = await take();
    if (faults(again) < faults(best)) best = again;
  }
  return best;
}

/** Can the load keep a proxy busy? New connections cost the client more than most proxies. */
export const fills = ({ section }: Table) => section !== 'handshakes';
