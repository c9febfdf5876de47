import { connections } from '../http/measure.ts';
import type { Cell } from '../http/run.ts';
import type { SectionName, Table } from '../http/sections.ts';
import { heading, line, of, percent, ratio, show } from './cells.ts';

const sections: Record<SectionName, { readonly title: string; readonly text: string }> = {
  logged: {
    title: 'HTTP with an access log',
    text: `${connections} keep-alive connections, the proxy alone on one core; load generator and backend on another. Routing by host and path, request id, forwarded headers, metrics and an access log to a file, with the same fields in each line. "core" is the share of the time in which the proxy ran or wanted to: where it is below 90 % the proxy slept in between, and its cost contains wake-ups that a busy one does not pay. "logged" is the share of all its requests that a proxy wrote to its log.`,
  },
  silent: {
    title: 'HTTP without an access log',
    text: 'The same, with the log switched off in all of them.',
  },
  routes: {
    title: 'Many routes',
    text: 'Portcullis against itself: so many further routes on the listener, each asked as often as any other.',
  },
  traces: {
    title: 'Traces',
    text: 'Portcullis against itself, with an access log: without tracing, and with the spans of a share of the requests exported over OTLP/HTTP to a collector on the other core.',
  },
  tls: {
    title: 'TLS',
    text: 'Kept connections; the same certificate (P-256), TLS 1.3 and TLS_AES_256_GCM_SHA384 for all, checked before measuring; with an access log. The backend is reached without TLS.',
  },
  h2: {
    title: 'HTTP/2',
    text: `${connections} requests under way on ${connections / 8} connections, over the same TLS; with an access log. The backend is reached over HTTP/1.1.`,
  },
  handshakes: {
    title: 'New TLS connections',
    text: 'Cost of a connection with one small request, key exchange X25519. The load generator is the limit here, so that no proxy fills its core.',
  },
};

export function httpSections(cells: readonly Cell[]): string[] {
  const lines: string[] = [];
  for (const [name, { title, text }] of Object.entries(sections)) {
    const own = cells.filter(({ table }) => table.section === name);
    if (own.length === 0) continue;
    lines.push(`## ${title}`, '', text, '');
    for (const table of new Set(own.map((cell) => cell.table))) {
      lines.push(
        `### ${table.title}`,
        '',
        ...tableOf(
          table,
          own.filter((cell) => cell.table === table),
        ),
        '',
      );
    }
  }
  return lines;
}

function tableOf({ unit }: Table, rows: readonly Cell[]): string[] {
  const cpuOf = (name: string) => {
    const cell = rows.find(({ row }) => row.name === name);
    return cell && of(cell.samples, 'cpuPerRequest').median;
  };
  return [
    ...heading([
      'proxy',
      `CPU us/${unit}`,
      '/ haproxy',
      '/ Envoy',
      `${unit}s/s`,
      'core',
      'p50 ms',
      'p99 ms',
      'RSS MB',
      'logged',
      'failed',
    ]),
    ...rows.map(({ row, samples, disturbed, failed, logged }) => {
      const cpu = of(samples, 'cpuPerRequest');
      const isProxy = row.proxy !== 'direct';
      return line([
        row.title,
        `${show(cpu, 1)}${disturbed ? ' *' : ''}`,
        ratio(cpu.median, cpuOf('haproxy')),
        ratio(cpu.median, cpuOf('envoy')),
        show(of(samples, 'requestsPerSecond'), 0),
        isProxy ? percent(of(samples, 'fullness').median) : '–',
        show(of(samples, 'p50'), 1),
        show(of(samples, 'p99'), 1),
        isProxy ? of(samples, 'residentMegabytes').median.toFixed(0) : '–',
        logged === undefined ? '–' : `${Math.min(100, Math.floor(logged * 100))} %`,
        `${failed}`,
      ]);
    }),
  ];
}
