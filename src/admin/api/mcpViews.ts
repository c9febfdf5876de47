import type { McpFailedStart, McpSessionState, McpState, McpTargetState, RouteView } from '../contract.ts';
import { hideSecretForms } from '../../telemetry/index.ts';

/** The best comes first. */
const states = ['ready', 'closed', 'suspended', 'starting', 'restarting', 'failed'];

/** The sessions as the API shows them, the latest use first. */
export function sessionsOf(routes: readonly RouteView[], sessions: readonly McpSessionState[]) {
  const routeOf = new Map(
    routes.toReversed().flatMap(({ id, backends }) => backends.map((key) => [key, id] as const)),
  );
  return sessions
    .toSorted((a, b) => b.lastUsedAt - a.lastUsedAt)
    .map(({ label, backend, principal, client, protocolVersion, createdAt, lastUsedAt, worker, targets }) => {
      const subject = subjectOf(principal);
      return {
        label,
        route: routeOf.get(backend) ?? backend,
        ...(subject !== undefined && { subject }),
        ...(client && { client }),
        ...(protocolVersion !== undefined && { revision: protocolVersion }),
        startedAt: new Date(createdAt).toISOString(),
        lastUsedAt: new Date(lastUsedAt).toISOString(),
        ...(worker !== undefined && { worker }),
        targets: targets.map(targetOf),
      };
    });
}

function targetOf({ name, state, since, pid, restarts, lastError }: McpTargetState) {
  return {
    name,
    state,
    ...(since !== undefined && { since: new Date(since).toISOString() }),
    ...(pid !== undefined && { pid }),
    restarts,
    ...(lastError !== undefined && { problem: hideSecretForms(lastError) }),
  };
}

/**
 * The servers of all MCP routes, with their worst state in all sessions. A server has failed where its last start did, and
 * no session has begun since.
 */
export function targetsOf(
  routes: readonly RouteView[],
  {
    sessions,
    hidden,
    circuits,
    failedStarts,
  }: Pick<McpState, 'sessions' | 'hidden' | 'circuits' | 'failedStarts'> = nothing,
) {
  const mcp = routes.filter(({ kind }) => kind === 'mcp');
  return mcp.flatMap(({ id, targets, backends }) => {
    const ofBackend = ({ backend }: { readonly backend: string }): boolean => backends.includes(backend);
    const own = sessions.filter(ofBackend);
    return targets.map(({ name, kind }) => {
      const ofTarget = (one: { readonly backend: string; readonly target: string }): boolean =>
        one.target === name && ofBackend(one);
      const failed = latest(failedStarts.filter(ofTarget), ({ at }) => at);
      const circuit = latest(circuits.filter(ofTarget), ({ retryAt }) => retryAt);
      const covered = hidden.filter(ofTarget);
      const uses = own.flatMap((session) => session.targets.filter((target) => target.name === name));
      const isDown = failed !== undefined && !uses.some((use) => hasWorkedSince(use, failed));
      const worst = uses.toSorted((a, b) => states.indexOf(b.state) - states.indexOf(a.state))[0];
      const used = uses.find(({ lastError }) => lastError !== undefined)?.lastError;
      const problem = used ?? (isDown ? failed.reason : circuit?.reason);
      const since = isDown ? failed.at : worst?.since;
      // Sessions may share a child, whose lines and restarts each of them has.
      const children = [...new Map(uses.map((use) => [use.pid ?? use, use])).values()];
      return {
        route: id,
        name,
        kind,
        state: isDown ? 'failed' : (worst?.state ?? 'idle'),
        ...(since !== undefined && { since: new Date(since).toISOString() }),
        sessions: uses.length,
        ...(problem !== undefined && { problem: hideSecretForms(problem) }),
        ...(worst && { restarts: children.reduce((sum, { restarts }) => sum + restarts, 0) }),
        ...(circuit && {
          circuit: {
            retryAt: new Date(circuit.retryAt).toISOString(),
            reason: hideSecretForms(circuit.reason),
          },
        }),
        hidden: covered.slice(0, mostHidden).map(({ kind: of, name: item, owner }) => ({
          kind: of,
          name: item.slice(0, longestName),
          owner,
        })),
        hiddenCount: covered.length,
        stderr: [...(isDown ? failed.stderr : []), ...children.flatMap(({ stderr = [] }) => stderr)]
          .slice(-mostLines)
          .map(hideSecretForms),
      };
    });
  });
}

const hasWorkedSince = ({ state, since = 0 }: McpTargetState, { at }: McpFailedStart): boolean =>
  state === 'ready' && since >= at;

const mostLines = 50;
/** Hidden items of one target that the answer names, and characters of a name. */
const mostHidden = 100;
const longestName = 200;
const nothing = { sessions: [], hidden: [], circuits: [], failedStarts: [] };

/** The entry with the greatest time. */
const latest = <Entry>(entries: readonly Entry[], timeOf: (entry: Entry) => number): Entry | undefined =>
  entries.toSorted((a, b) => timeOf(b) - timeOf(a))[0];

/** The subject or the user that stands in a principal; undefined for an anonymous caller. */
function subjectOf(principal: string | undefined): string | undefined {
  if (principal === undefined) return undefined;
  if (principal.startsWith('[')) {
    const [holder, user] = JSON.parse(principal) as readonly (string | null)[];
    return user ?? subjectOf(holder ?? undefined);
  }
  const [first, ...subject] = principal.split('\n');
  return first === 'token' ? undefined : subject.join('\n');
}
