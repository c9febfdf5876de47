import type { AdminViews, GatewayViews } from '../contract.ts';
import { configOf, servingOf } from '../stateOf.ts';
import { redactDump } from '../redactDump.ts';
import { operation, emptyOperation, type ApiOperation } from './operation.ts';
import { ApiProblem } from './problem.ts';
import { sessionsOf, targetsOf } from './mcpViews.ts';
import * as shapes from './shapes.ts';

const mostAuditLines = 1_000;
const usualAuditLines = 200;

/** The operations about the running state. */
export const stateOperations = (views: AdminViews, gateway: GatewayViews): readonly ApiOperation[] => [
  operation({
    method: 'GET',
    path: '/api/v1/status',
    about: 'what runs, what is wrong with it, and totals of requests',
    access: 'viewer',
    result: shapes.status,
    run: async () => {
      const [serving, rates] = await Promise.all([servingOf(views), gateway.rates()]);
      const { workers, binds, closedPorts, brokenRoutes, certificates, keySets } = serving;
      const found = {
        version: views.version,
        readiness: views.readiness(),
        startedAt: new Date(gateway.startedAt).toISOString(),
        logLevel: views.logLevel(),
        config: configOf(views),
        workers,
        binds,
        closedPorts,
        brokenRoutes,
        certificates,
        keySets,
        rates,
        history: [...gateway.rateHistory()],
      };
      return redactDump(found, views.masked) as typeof found;
    },
  }),
  operation({
    method: 'GET',
    path: '/api/v1/routes',
    about: 'the routes of the configuration in use, as clients see them',
    access: 'viewer',
    result: shapes.routes,
    run: () =>
      gateway.routes().map(({ port, path, targets, authentication, backends: _, ...route }) => ({
        ...route,
        port: port ?? null,
        path: path ?? null,
        targets: targets.map(({ name }) => name),
        authentication: authentication ?? null,
      })),
  }),
  operation({
    method: 'GET',
    path: '/api/v1/rules',
    about: 'the authorization rules of the configuration in use, with what they decide',
    access: 'viewer',
    result: shapes.rules,
    run: () => {
      const found = gateway
        .rules()
        .map((rule) => ({ ...rule, reads: [...rule.reads], scopes: [...rule.scopes] }));
      return redactDump(found, views.masked) as typeof found;
    },
  }),
  operation({
    method: 'GET',
    path: '/api/v1/cel',
    about: 'the variables and functions that a CEL expression about a request may use',
    access: 'viewer',
    result: shapes.expressionWords,
    run: () => gateway.expressionWords(),
  }),
  operation({
    method: 'GET',
    path: '/api/v1/sessions',
    about: 'MCP sessions with the servers behind them',
    access: 'viewer',
    result: shapes.sessions,
    run: async () => sessionsOf(gateway.routes(), (await views.serving()).mcp?.sessions ?? []),
  }),
  emptyOperation({
    method: 'DELETE',
    path: '/api/v1/sessions/{label}',
    about: 'ends an MCP session and its servers',
    access: 'operator',
    parameters: { label: 'Label of the session, as `GET /api/v1/sessions` has it.' },
    refusals: { 404: 'no session has the label' },
    run: async ({ parameters: { label = '' } }) => {
      if (!(await gateway.endSession(label))) throw new ApiProblem(404, `no session has the label ${label}`);
      return undefined;
    },
  }),
  operation({
    method: 'GET',
    path: '/api/v1/targets',
    about: 'MCP servers of the routes, with their state in all sessions',
    access: 'viewer',
    result: shapes.targets,
    run: async () => targetsOf(gateway.routes(), (await views.serving()).mcp),
  }),
  operation({
    method: 'GET',
    path: '/api/v1/audit',
    about: `the last lines of the audit stream; ?limit=1…${mostAuditLines}`,
    access: 'viewer',
    parameters: { limit: `The number of lines, ${usualAuditLines} by default, at most ${mostAuditLines}.` },
    result: shapes.auditLines,
    run: async ({ query }) => {
      const lines = await gateway.auditLines(limitOf(query.get('limit')));
      return {
        kept: lines !== undefined,
        arguments: lines === undefined ? null : (views.model()?.process.fixed.audit?.arguments ?? null),
        lines: (lines ?? []).map((line) => JSON.parse(line) as { time: number }),
      };
    },
  }),
];

/** @throws ApiProblem */
function limitOf(text: string | null): number {
  if (text === null) return usualAuditLines;
  const limit = Number(text);
  if (!Number.isInteger(limit) || limit < 1 || limit > mostAuditLines)
    throw new ApiProblem(400, `limit: expected a whole number from 1 to ${mostAuditLines}`);
  return limit;
}
