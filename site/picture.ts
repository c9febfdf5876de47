/** A picture of a configuration: its listeners, routes, policies and backends, from the client to the servers. */
import { loadText } from '../src/config/index.ts';
import type { Example } from '../scripts/reference/examples.ts';
import type { Backend, Bind, Listener, McpTarget, Model } from '../src/model/index.ts';

/** A row of the picture: one path from a listener to a backend. */
interface Row {
  readonly listener: readonly string[];
  readonly route: readonly string[];
  readonly policies: readonly string[];
  readonly targets: readonly string[];
}

const kinds: Readonly<Record<McpTarget['kind'], string>> = {
  stdio: 'stdio',
  http: 'HTTP',
  sse: 'HTTP+SSE',
  openapi: 'HTTP API',
};

const targetText = ({ name, kind }: McpTarget): string => `${name} · ${kinds[kind]}`;

function backendTexts(backend: Backend): readonly string[] {
  switch (backend.kind) {
    case 'mcp':
      return backend.targets.map(targetText);
    case 'http':
      return [`${backend.host}:${String(backend.port)}`];
    case 'console':
      return ['the console'];
    case 'invalid':
      return [];
  }
}

/** Names, the first few of them. */
const few = (names: readonly string[]): readonly string[] =>
  names.length > 3 ? [...names.slice(0, 2), `and ${String(names.length - 2)} more`] : names;

function rowsOf(bind: Bind, listener: Listener): readonly Row[] {
  const host = 'hostname' in listener && listener.hostname !== undefined ? [listener.hostname] : [];
  const name = [`${listener.protocol} :${String(bind.port)}`, ...host];
  const raw =
    'tcpRoutes' in listener ? listener.tcpRoutes : 'udpRoutes' in listener ? listener.udpRoutes : undefined;
  if (raw !== undefined)
    return raw.map((route) => ({
      listener: name,
      route: 'hostnames' in route && route.hostnames.length > 0 ? few(route.hostnames) : ['all traffic'],
      policies: [],
      targets: route.backends.flatMap((backend) =>
        backend.kind === 'invalid' ? [] : [`${backend.host}:${String(backend.port)}`],
      ),
    }));
  if (!('routes' in listener)) return [];
  return listener.routes.map(({ matches, hostnames, policies, backends }) => {
    const paths = matches.map(
      ({ path, method }) => `${method === undefined ? '' : `${method} `}${path.value}`,
    );
    return {
      listener: name,
      route: [...few(hostnames), ...few([...new Set(paths)])],
      policies: [...listener.policies, ...policies].map((policy) => policy.name),
      targets: backends.flatMap(backendTexts),
    };
  });
}

/** The settings of the environment that an example needs to load. */
const environment = { MCP_SESSION_KEY: '0'.repeat(64) };

/** The model of an example; the working directory is the root of the repository. @throws Error for an example that is no valid configuration */
export function modelOf({ path, text }: Pick<Example, 'path' | 'text'>): Model {
  const loaded = loadText(text, { file: path, env: environment });
  if (!loaded.ok) throw new Error(`${path} is no valid configuration: ${loaded.problems[0]?.message ?? ''}`);
  return loaded.model;
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

const columns = [
  { title: 'listener', width: 146 },
  { title: 'route', width: 132 },
  { title: 'policies', width: 176 },
  { title: 'backends', width: 190 },
] as const;
const gap = 24;
const lineHeight = 18;
const padding = 8;
/** Widths of letters in the picture are about so much. */
const letter = 7.2;

const clipped = (text: string, width: number): string => {
  const most = Math.floor((width - 2 * padding) / letter);
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
};

const box = (kind: string, x: number, y: number, width: number, lines: readonly string[]): string => {
  const height = lines.length * lineHeight + padding;
  const texts = lines.map(
    (line, at) =>
      `<text x="${String(x + padding)}" y="${String(y + padding / 2 + 13 + at * lineHeight)}">${escaped(clipped(line, width))}</text>`,
  );
  return `<rect class="${kind}" x="${String(x)}" y="${String(y)}" width="${String(width)}" height="${String(height)}" rx="5"/>${texts.join('')}`;
};

/** Rows beyond this number are counted, not drawn. */
const mostRows = 6;

/**
 * The picture of an example as inline SVG. Its colours are those of the page (see theme.css), so it suits both themes.
 * One box for a listener or route that several rows share.
 */
export function pictureOf(example: Pick<Example, 'path' | 'text' | 'name'>): string {
  const all = modelOf(example).binds.flatMap((bind) =>
    bind.listeners.flatMap((listener) => rowsOf(bind, listener)),
  );
  const rows = all.slice(0, mostRows);
  const xs = columns.map((_, at) => columns.slice(0, at).reduce((sum, { width }) => sum + width + gap, 0));
  const width = columns.reduce((sum, column) => sum + column.width, 0) + gap * (columns.length - 1);
  const parts: string[] = columns.map(
    ({ title }, at) => `<text class="title" x="${String(xs[at] ?? 0)}" y="12">${title}</text>`,
  );
  let y = 22;
  let before = '';
  let middleBefore = 0;
  for (const { listener, route, policies, targets } of rows) {
    const shared = listener.join(' ') === before;
    const cells = [
      shared ? [] : listener,
      route,
      policies.length === 0 ? [] : policies,
      targets.length === 0 ? ['the gateway answers'] : targets,
    ];
    const height = Math.max(...cells.map((lines) => Math.max(1, lines.length))) * lineHeight + padding;
    const middle = y + (lineHeight + padding) / 2;
    // A line runs behind the boxes, so a row without policies has an arrow of two columns.
    parts.push(
      `<path d="M${String((xs[0] ?? 0) + columns[0].width + (shared ? gap / 2 : 0))} ${String(middle)}H${String((xs[3] ?? 0) - 6)}"/>`,
      `<path class="head" d="M${String((xs[3] ?? 0) - 6)} ${String(middle - 4)}l6 4l-6 4z"/>`,
    );
    if (shared)
      parts.push(
        `<path d="M${String((xs[0] ?? 0) + columns[0].width + gap / 2)} ${String(middleBefore)}V${String(middle)}"/>`,
      );
    cells.forEach((lines, at) => {
      const column = columns[at];
      if (lines.length > 0 && column !== undefined)
        parts.push(box(column.title, xs[at] ?? 0, y, column.width, lines));
    });
    y += height + 12;
    before = listener.join(' ');
    middleBefore = middle;
  }
  if (all.length > rows.length)
    parts.push(
      `<text class="title" x="${String(xs[1] ?? 0)}" y="${String(y + 6)}">and ${String(all.length - rows.length)} more routes</text>`,
    );
  const height = y + (all.length > rows.length ? 12 : 0);
  const told = `${example.name}: ${rows.map(({ listener, route, policies, targets }) => [...listener, ...route, ...policies, ...targets].join(' → ')).join('; ')}`;
  return `<div class="picture"><svg viewBox="0 0 ${String(width)} ${String(height)}" role="img" aria-label="${escaped(told)}">${parts.join('')}</svg></div>`;
}
