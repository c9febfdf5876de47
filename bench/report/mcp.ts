import { few, many } from '../mcp/candidates.ts';
import type { McpCell } from '../mcp/run.ts';
import type { SessionsCell } from '../mcp/sessions.ts';
import { heading, line, of, ratio, show } from './cells.ts';
import { spread } from '../statistics.ts';
import { targetTable, type Target } from './targetTable.ts';

const gatewayCpu = 'gatewayCpuPerCall';

export interface McpFigures {
  readonly mcp: readonly McpCell[];
  readonly sessions: readonly SessionsCell[];
}

/** Median CPU of the gateway for a request, in microseconds; NaN where it was not measured. */
const cost = (cells: readonly McpCell[], name: string) =>
  of(cells.find(({ candidate }) => candidate.name === name)?.samples ?? [], gatewayCpu).median;

/**
 * Two rows compared round by round, and the median of that: what slows the machine down for a while slows both rows of a
 * round, and a quotient of two medians may come from two different times.
 */
function compared(
  cells: readonly McpCell[],
  names: readonly [string, string],
  compare: (one: number, other: number) => number,
): number {
  const [ones, others] = names.map(
    (name) => cells.find(({ candidate }) => candidate.name === name)?.samples ?? [],
  ) as [McpCell['samples'], McpCell['samples']];
  const each = ones.flatMap((one, round) => {
    const other = others[round];
    return other === undefined ? [] : [compare(one[gatewayCpu], other[gatewayCpu])];
  });
  return each.length === 0 ? Number.NaN : spread(each).median;
}

/** Kilobytes that a session takes while nothing happens in it: the worst round against the time before the first. */
const sessionKilobytes = ({ base, rounds, sessions }: SessionsCell) =>
  (Math.max(...rounds.map(({ open }) => open)) - base) * (1024 / sessions);

function mcpTargets({ mcp, sessions }: McpFigures): Target[] {
  const share = (name: string, limit: number, row: string, base: string): Target => ({
    name,
    limit,
    measured: compared(mcp, [row, base], (one, other) => one / other),
  });
  const time = (name: string, limit: number, row: string): Target => ({
    name,
    limit,
    measured: cost(mcp, row),
    digits: 1,
    unit: ' us',
  });
  const [single] = sessions;
  return [
    share('stdio: CPU of a call / supergateway as it comes', 0.15, 'portcullis', 'supergateway'),
    share('stdio: CPU of a call / mcp-proxy, which has one server for all', 0.2, 'portcullis', 'mcp-proxy'),
    share(
      'stdio: CPU of a call / mcp-proxy, one server for all in both',
      0.2,
      'portcullis-shared',
      'mcp-proxy',
    ),
    time(`HTTP: CPU of a call, ${few} sessions`, 90, 'portcullis-http'),
    time(`HTTP: CPU of a call, ${many} sessions`, 90, 'portcullis-http-many'),
    time('HTTP: CPU of a call, modern era', 90, 'portcullis-http-modern'),
    {
      name: 'HTTP: CPU of a call with an audit stream with a chain, beyond one without',
      limit: 10,
      measured: compared(mcp, ['portcullis-http-audited', 'portcullis-http'], (one, other) => one - other),
      digits: 1,
      unit: ' us',
    },
    share(
      `CPU of a call to one of ten targets / to the only one, ${few} sessions`,
      1.15,
      'portcullis-federation',
      'portcullis-http',
    ),
    share(
      `CPU of a call to one of ten targets / to the only one, ${many} sessions`,
      1.15,
      'portcullis-federation-many',
      'portcullis-http-many',
    ),
    share(
      'CPU of a call to one of ten targets / to the only one, modern era',
      1.15,
      'portcullis-federation-modern',
      'portcullis-http-modern',
    ),
    time('CPU of `tools/list` of 300 unchanged tools under a rule', 300, 'portcullis-list'),
    time('the same, modern era', 300, 'portcullis-list-modern'),
    {
      name: 'memory of an idle session without a child',
      limit: 60,
      measured: single === undefined ? Number.NaN : sessionKilobytes(single),
      digits: 1,
      unit: ' KB',
    },
  ];
}

interface Group {
  readonly title: string;
  readonly about: string;
  /** The row that the others are compared with. */
  readonly base?: { readonly name: string; readonly head: string };
  readonly has: (cell: McpCell) => boolean;
}

const isHttp = ({ candidate }: McpCell) => /-(?:http|federation)\b/.test(candidate.name);
const isList = ({ candidate }: McpCell) => candidate.work.method === 'tools/list';

const groups: readonly Group[] = [
  {
    title: '`tools/call` over stdio, servers on the core of the gateway',
    about: `${few} sessions. Every session has a server of its own, unless the row says otherwise. More sessions would measure the processes of the servers.`,
    base: { name: 'supergateway', head: '/ supergateway' },
    has: (cell) => !isHttp(cell) && !isList(cell) && cell.candidate.apart !== true,
  },
  {
    title: '`tools/call` over stdio, servers on the other core',
    about: `${few} sessions.`,
    base: { name: 'supergateway-apart', head: '/ supergateway' },
    has: (cell) => !isHttp(cell) && !isList(cell) && cell.candidate.apart === true,
  },
  {
    title: '`tools/call` over HTTP',
    about:
      'Portcullis with a token and a rule. The servers are one light process on the other core. Supergateway and mcp-proxy serve no targets over HTTP in this way.',
    base: { name: 'portcullis-http', head: '/ one server' },
    has: (cell) => isHttp(cell) && !isList(cell),
  },
  {
    title: '`tools/list`',
    about:
      'Ten servers over HTTP with 30 tools each, a rule that decides on every tool, and no change between the requests.',
    has: isList,
  },
];

/** The section of RESULTS.md. @param about a line that tells when and where it was measured */
export function mcpLines({ mcp, sessions }: McpFigures, about: readonly string[]): string[] {
  if (mcp.length === 0 && sessions.length === 0) return [];
  return [
    ...about,
    '',
    "Clients hold a session each and send one request at a time; every answer is checked. The gateway has one core, the load generator another. CPU of the servers is shown apart from the gateway's own.",
    '',
    ...targetTable(mcpTargets({ mcp, sessions })),
    ...groups.flatMap((group) => groupLines(group, mcp)),
    ...sessionLines(sessions),
  ];
}

function groupLines({ title, about, base, has }: Group, all: readonly McpCell[]): string[] {
  const cells = all.filter(has);
  if (cells.length === 0) return [];
  return [
    `### ${title}`,
    '',
    about,
    '',
    ...heading([
      'gateway',
      'sessions',
      'CPU us/request',
      ...(base === undefined ? [] : [base.head]),
      'server CPU us/request',
      'requests/s',
      'p50 ms',
      'p99 ms',
      'RSS MB',
    ]),
    ...cells.map(({ candidate, samples }) =>
      line([
        candidate.title,
        `${candidate.sessions}`,
        show(of(samples, gatewayCpu), 1),
        ...(base === undefined ? [] : [ratio(of(samples, gatewayCpu).median, cost(all, base.name))]),
        show(of(samples, 'serverCpuPerCall'), 1),
        show(of(samples, 'callsPerSecond'), 0),
        show(of(samples, 'p50'), 1),
        show(of(samples, 'p99'), 1),
        candidate.start === undefined ? '–' : of(samples, 'residentMegabytes').median.toFixed(0),
      ]),
    ),
    '',
  ];
}

function sessionLines(cells: readonly SessionsCell[]): string[] {
  const [first] = cells;
  if (first === undefined) return [];
  return [
    '### Memory of sessions',
    '',
    `${first.sessions} sessions, opened over 16 connections and initialized, then silence until memory stood still; ended, and the same again. Resident memory of the process, from before the first round. The servers are over HTTP, so no session has a child.`,
    '',
    ...heading(['targets', 'KB a session', 'before, MB', 'open, MB', 'ended again, MB']),
    ...cells.map((cell) =>
      line([
        cell.title,
        sessionKilobytes(cell).toFixed(1),
        cell.base.toFixed(0),
        cell.rounds.map(({ open }) => open.toFixed(0)).join(', '),
        cell.rounds.map(({ closed }) => closed.toFixed(0)).join(', '),
      ]),
    ),
    '',
  ];
}
