import { full } from '../http/measure.ts';
import type { Cell } from '../http/run.ts';
import type { IdleCell } from '../idle/run.ts';
import type { McpCell } from '../mcp/run.ts';
import { heading, line, of } from './cells.ts';
import { idleKilobytes } from './idle.ts';
import { mcpCost } from './mcp.ts';
import type { RuleCell } from '../rules/run.ts';
import { soakRise } from './kept.ts';
import { worstRule } from './rules.ts';

interface Target {
  readonly name: string;
  readonly limit: number;
  readonly measured: number;
  readonly digits?: number;
  readonly unit?: string;
  /** The doubt about the figure. */
  readonly doubt?: string;
}

type Figure = 'cpuPerRequest' | 'p99';

export interface Measured {
  readonly http: readonly Cell[];
  readonly idle: readonly IdleCell[];
  readonly mcp: readonly McpCell[];
  readonly rules: readonly RuleCell[];
  /** RESULTS.md as it was, with the last soak. */
  readonly before: string;
}

/** The table of what the gateway is held to; targets that a part of a run did not measure are left out. */
export function targetSection(measured: Measured): string[] {
  const rows = targets(measured).filter((target) => Number.isFinite(target.measured));
  if (rows.length === 0) return [];
  return [
    '## Targets',
    '',
    ...heading(['figure', 'at most', 'measured', 'verdict']),
    ...rows.map(({ name, limit, measured: value, digits = 2, unit = '', doubt = '' }) =>
      line([
        name,
        `${limit}${unit}`,
        `${value.toFixed(digits)}${unit}`,
        `${value <= limit ? 'met' : 'missed'}${doubt}`,
      ]),
    ),
    '',
  ];
}

function targets({ http, idle, mcp, rules, before }: Measured): Target[] {
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
    {
      name: 'CPU of an MCP call / supergateway as it comes',
      limit: 0.25,
      measured: mcpCost(mcp, 'portcullis') / mcpCost(mcp, 'supergateway'),
    },
    {
      name: 'CPU of an MCP call to a server over HTTP',
      limit: 90,
      measured: mcpCost(mcp, 'portcullis-http'),
      digits: 1,
      unit: ' us',
    },
    {
      name: 'CPU of an MCP call to one of ten servers over HTTP / to the only one',
      limit: 1.15,
      measured: mcpCost(mcp, 'portcullis-federation') / mcpCost(mcp, 'portcullis-http'),
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
