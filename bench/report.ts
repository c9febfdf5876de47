import type { BenchArguments } from './arguments.ts';
import type { Cell } from './http/run.ts';
import { connections } from './http/measure.ts';
import { clients } from './mcp/measure.ts';
import type { McpCell } from './mcp/run.ts';
import { describeMachine, versions } from './machine.ts';
import { spread, type Spread } from './statistics.ts';

/**
 * The whole of RESULTS.md.
 *
 * @param loadBefore load average before the first measurement: how quiet the machine was
 */
export function report(
  args: BenchArguments,
  loadBefore: number,
  http: readonly Cell[],
  mcp: readonly McpCell[],
): string {
  return [
    '# Benchmark results',
    '',
    'Written by `npm run bench`; [README.md](README.md) says how it measures.',
    '',
    `- Date: ${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC`,
    `- Machine: ${describeMachine()}`,
    `- Load average before the run: ${loadBefore.toFixed(1)}`,
    `- ${args.rounds} interleaved rounds of ${args.seconds} s each; a cell is the median, with the range of the rounds in brackets`,
    `- Versions: ${Object.entries(versions())
      .map(([name, version]) => `${name} ${version}`)
      .join('; ')}`,
    '',
    ...(http.length > 0 ? httpSection(http) : []),
    ...(mcp.length > 0 ? mcpSection(mcp) : []),
    ...targetSection(http, mcp),
  ].join('\n');
}

function httpSection(cells: readonly Cell[]): string[] {
  const lines = [
    '## HTTP',
    '',
    `${connections} keep-alive connections, the proxy alone on one core; load generator and backend on another. Routing by host and path, request id, forwarded headers, access log to a file and metrics are on everywhere. "Logged" is the share of all its requests that a proxy wrote to its access log.`,
    '',
  ];
  for (const workload of new Set(cells.map((cell) => cell.workload))) {
    const rows = cells.filter((cell) => cell.workload === workload);
    lines.push(
      `### ${workload.title}`,
      '',
      '| proxy | CPU us/request | / haproxy | / Envoy | requests/s | p50 ms | p99 ms | RSS MB | logged | failed |',
      '| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |',
    );
    const cpuOf = (name: string) => {
      const cell = rows.find(({ candidate }) => candidate.name === name);
      return cell && of(cell.samples, 'cpuPerRequest').median;
    };
    for (const { candidate, samples, logged } of rows) {
      const cpu = of(samples, 'cpuPerRequest');
      lines.push(
        row([
          candidate.title,
          show(cpu, 1),
          ratio(cpu.median, cpuOf('haproxy')),
          ratio(cpu.median, cpuOf('envoy')),
          show(of(samples, 'requestsPerSecond'), 0),
          show(of(samples, 'p50'), 1),
          show(of(samples, 'p99'), 1),
          candidate.name === 'direct' ? '–' : of(samples, 'residentMegabytes').median.toFixed(0),
          logged === undefined ? '–' : `${Math.floor(logged * 100)} %`,
          `${samples.reduce((sum, { failed }) => sum + failed, 0)}`,
        ]),
      );
    }
    lines.push('');
  }
  return lines;
}

function mcpSection(cells: readonly McpCell[]): string[] {
  const base = (apart: boolean) =>
    of(
      cells.find(({ candidate }) => candidate.name === (apart ? 'supergateway-apart' : 'supergateway'))
        ?.samples ?? [],
      gatewayCpu,
    ).median;
  return [
    '## MCP: `tools/call` of a stdio echo server',
    '',
    `${clients} clients with a session each, one call at a time, every answer checked. The gateway shares one core with the stdio servers it starts, the load generator has another; "on the other core" moves the servers to the load generator's. CPU of the servers is shown apart from the gateway's own. The ratio is to supergateway as it comes, in the same arrangement.`,
    '',
    '| gateway | CPU us/call | / supergateway | server CPU us/call | calls/s | p50 ms | p99 ms | RSS MB |',
    '| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |',
    ...cells.map(({ candidate, samples }) =>
      row([
        candidate.title,
        show(of(samples, gatewayCpu), 1),
        ratio(of(samples, gatewayCpu).median, base(candidate.apart === true)),
        show(of(samples, 'serverCpuPerCall'), 1),
        show(of(samples, 'callsPerSecond'), 0),
        show(of(samples, 'p50'), 1),
        show(of(samples, 'p99'), 1),
        candidate.name === 'direct' ? '–' : of(samples, 'residentMegabytes').median.toFixed(0),
      ]),
    ),
    '',
  ];
}

const gatewayCpu = 'gatewayCpuPerCall';

function targetSection(http: readonly Cell[], mcp: readonly McpCell[]): string[] {
  const proxied = (name: string) =>
    of(
      http.find(({ candidate, workload }) => candidate.name === name && workload.name === 'get')?.samples ??
        [],
      'cpuPerRequest',
    ).median;
  const called = (name: string) =>
    of(mcp.find(({ candidate }) => candidate.name === name)?.samples ?? [], gatewayCpu).median;
  const targets: readonly (readonly [string, number, number])[] = [
    ['CPU per small proxied request, against haproxy', 1.5, proxied('portcullis') / proxied('haproxy')],
    ['CPU per small proxied request, against Envoy', 0.6, proxied('portcullis') / proxied('envoy')],
    [
      'CPU per MCP call, against supergateway as it comes',
      0.25,
      called('portcullis') / called('supergateway'),
    ],
  ];
  const rows = targets
    .filter(([, , measured]) => Number.isFinite(measured))
    .map(([name, limit, measured]) =>
      row([name, `${limit}`, measured.toFixed(2), measured <= limit ? 'met' : 'missed']),
    );
  if (rows.length === 0) return [];
  return ['## Targets', '', '| ratio | at most | measured | |', '| --- | ---: | ---: | --- |', ...rows, ''];
}

/** The spread of one figure over the rounds. */
function of<Key extends string>(samples: readonly Readonly<Record<Key, number>>[], key: Key): Spread {
  return spread(samples.map((sample) => sample[key]));
}

const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;

const show = ({ median, min, max }: Spread, digits: number) =>
  Number.isFinite(median) ? `${median.toFixed(digits)} (${min.toFixed(digits)}–${max.toFixed(digits)})` : '–';

const ratio = (value: number, base: number | undefined) =>
  base === undefined || !Number.isFinite(value / base) ? '–' : (value / base).toFixed(2);
