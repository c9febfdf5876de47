import { full } from '../http/measure.ts';
import type { Cell } from '../http/run.ts';
import type { IdleCell } from '../idle/run.ts';
import { of } from './cells.ts';
import { idleKilobytes } from './idle.ts';
import type { RuleCell } from '../rules/run.ts';
import { soakRise } from './kept.ts';
import { worstRule } from './rules.ts';
import { targetTable, type Target } from './targetTable.ts';

type Figure = 'cpuPerRequest' | 'p99';

export interface Measured {
  readonly http: readonly Cell[];
  readonly idle: readonly IdleCell[];
  readonly rules: readonly RuleCell[];
  /** RESULTS.md as it was, with the last soak. */
  readonly before: string;
}

/** The table of what the gateway is held to; that of MCP stands with its figures. */
export function targetSection(measured: Measured): string[] {
  const table = targetTable(targets(measured));
  return table.length === 0 ? [] : ['## Targets', '', ...table];
}

function targets({ http, idle, rules, before }: Measured): Target[] {
  const find = (table: string, row: string) =>
    http.find((cell) => cell.table.name === table && cell.row.name === row);
  const figure = (cell: Cell | undefined, key: Figure) => of(cell?.samples ?? [], key).median;
  const compare = (
    name: string,
    limit: number,
    table: string,
    base: string,
    own = 'portcullis',
    key: Figure = 'cpuPerRequest',
  ): Target => {
    const cells = [find(table, own), find(table, base)] as const;
    return {
      name,
      limit,
      measured: figure(cells[0], key) / figure(cells[1], key),
      doubt: doubtOf(cells, key),
    };
  };
  const pair = (
    name: string,
    limit: number,
    table: string,
    base: string,
    own?: string,
    key?: Figure,
  ): Target[] => [
    compare(`${name}, with an access log`, limit, table, base, own, key),
    compare(`${name}, without`, limit, `${table}-silent`, base, own, key),
  ];
  const own = idle.find(({ name }) => name === 'portcullis');
  return [
    ...pair('CPU of a small request / haproxy', 1.2, 'get', 'haproxy'),
    ...pair('CPU of a small request / Envoy', 0.33, 'get', 'envoy'),
    ...pair('CPU of a 10 KB answer / haproxy', 1.3, '10k', 'haproxy'),
    ...pair('CPU of a 1 MB answer / haproxy', 1.2, '1m', 'haproxy'),
    ...pair('p99 of 1 MB answers / Envoy', 1, '1m', 'envoy', 'portcullis', 'p99'),
    compare('CPU of a small request over TLS / Envoy', 0.8, 'tls', 'envoy'),
    ...pair(
      'CPU of a small request with a checked token / without',
      1.15,
      'get',
      'portcullis',
      'portcullis-token',
    ),
    compare('CPU with 10 000 routes / with one', 1.1, 'routes', 'portcullis-1', 'portcullis-10000'),
    compare(
      'CPU with spans of 1 % of the requests / without tracing',
      1.03,
      'traces',
      'portcullis',
      'portcullis-traced-0.01',
    ),
    {
      name: 'memory of an idle connection',
      limit: 12,
      measured: own === undefined ? Number.NaN : idleKilobytes(own),
      digits: 1,
      unit: ' KB',
    },
    {
      name: 'rise of resident memory over ten minutes of everything (soak, below)',
      limit: 5,
      measured: soakRise(before),
      digits: 1,
      unit: ' %',
    },
    {
      name: 'the worst rule on the largest request that is accepted',
      limit: 20,
      measured: worstRule(rules),
      digits: 1,
      unit: ' ms',
    },
  ];
}

/** A proxy that did not fill its core looks dearer than it is, and one that shared it with others, too. */
function doubtOf(cells: readonly (Cell | undefined)[], key: Figure): string {
  if (cells.some((cell) => cell?.disturbed === true)) return ', but others disturbed it';
  // A p99 says nothing of cores.
  const idle = cells.some((cell) => of(cell?.samples ?? [], 'fullness').median < full);
  return key === 'cpuPerRequest' && idle ? ', but one of the two did not fill its core' : '';
}
