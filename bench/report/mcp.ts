import { clients } from '../mcp/measure.ts';
import type { McpCell } from '../mcp/run.ts';
import { heading, line, of, ratio, show } from './cells.ts';

const gatewayCpu = 'gatewayCpuPerCall';

/** Median CPU of the gateway for a call, in microseconds; NaN where it was not measured. */
export const mcpCost = (cells: readonly McpCell[], name: string) =>
  of(cells.find(({ candidate }) => candidate.name === name)?.samples ?? [], gatewayCpu).median;

export function mcpSection(cells: readonly McpCell[]): string[] {
  if (cells.length === 0) return [];
  return [
    '## MCP: `tools/call` of an echo server',
    '',
    `${clients} clients with a session each, one call at a time, every answer checked. The gateway shares one core with the stdio servers it starts, the load generator has another; "on the other core" moves the servers to the load generator's; servers over HTTP are one process there. CPU of the servers is shown apart from the gateway's own. The ratio is to supergateway as it comes, in the same arrangement.`,
    '',
    ...heading([
      'gateway',
      'CPU us/call',
      '/ supergateway',
      'server CPU us/call',
      'calls/s',
      'p50 ms',
      'p99 ms',
      'RSS MB',
    ]),
    ...cells.map(({ candidate, samples }) =>
      line([
        candidate.title,
        show(of(samples, gatewayCpu), 1),
        ratio(
          of(samples, gatewayCpu).median,
          mcpCost(cells, candidate.apart === true ? 'supergateway-apart' : 'supergateway'),
        ),
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
