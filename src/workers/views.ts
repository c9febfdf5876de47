import type { PlaneView, WorkerView } from './contract.ts';

type WithoutWorkers = Omit<PlaneView, 'workers'>;

/** Merges the views of several workers: numbers are added up, and other values show the worst. */
export function mergeViews(
  views: readonly (readonly [worker: number, view: WithoutWorkers])[],
  workers: readonly WorkerView[],
): PlaneView {
  const all = <Name extends keyof WithoutWorkers>(name: Name): WithoutWorkers[Name][] =>
    views.map(([, view]) => view[name]);
  return {
    workers,
    binds: byName(all('binds').flat(), 'key', (a, b) => ({
      ...a,
      connections: a.connections + b.connections,
    })),
    closedPorts: byName(all('closedPorts').flat(), 'key', (a) => a),
    brokenRoutes: byName(all('brokenRoutes').flat(), 'route', (a) => a),
    certificates: byName(all('certificates').flat(), 'certificate', worse),
    keySets: byName(all('keySets').flat(), 'source', worse),
    mcp: {
      sessions: views.flatMap(([worker, { mcp }]) => mcp.sessions.map((session) => ({ worker, ...session }))),
      children: all('mcp').reduce((sum, { children }) => sum + children, 0),
      hidden: distinct(all('mcp').flatMap(({ hidden }) => hidden)),
      circuits: all('mcp').flatMap(({ circuits }) => circuits),
      failedStarts: all('mcp').flatMap(({ failedStarts }) => failedStarts),
    },
  };
}

/** Equal entries of several workers are one. */
const distinct = <Entry extends object>(entries: readonly Entry[]): readonly Entry[] => [
  ...new Map(entries.map((entry) => [JSON.stringify(entry), entry])).values(),
];

/** The best comes first. */
const states = ['ready', 'stale', 'waiting', 'broken'];

const worse = <Entry extends { readonly state: string }>(a: Entry, b: Entry): Entry =>
  states.indexOf(b.state) > states.indexOf(a.state) ? b : a;

function byName<Entry>(
  entries: readonly Entry[],
  name: keyof Entry,
  merge: (a: Entry, b: Entry) => Entry,
): readonly Entry[] {
  const merged = new Map<unknown, Entry>();
  for (const entry of entries) {
    const known = merged.get(entry[name]);
    merged.set(entry[name], known === undefined ? entry : merge(known, entry));
  }
  return [...merged.values()];
}
