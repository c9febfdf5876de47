/**
 * The lines of the audit stream: flat JSON objects whose names are the paths of API Activity (class 6003) in the Open
 * Cybersecurity Schema Framework (OCSF), where it has them. docs/audit.md has the table.
 */

import { timestamp } from '../telemetry/index.ts';
import { version } from '../version.ts';
import { hideSecretForms } from './secretPatterns.ts';
import { shownName } from './shownNames.ts';

/** The version of OCSF that the names are from. */
export const ocsfVersion = '1.6.0';

/** Everything that was proven about a caller. */
export interface AuditedCaller {
  readonly issuer?: string | undefined;
  readonly subject?: string | undefined;
  /** The OAuth client. */
  readonly clientId?: string | undefined;
  readonly groups?: readonly string[] | undefined;
  /** User of `basicAuth`, or of the machine. */
  readonly user?: string | undefined;
  /** Tells one API key from the others. */
  readonly apiKey?: string | undefined;
  readonly address?: string | undefined;
  readonly port?: number | undefined;
}

export type AuditOutcome =
  'ok' | 'tool_error' | 'error' | 'refused' | 'cancelled' | 'unfinished' | 'input_required';

/** The end of an operation. */
export interface AuditedEnd {
  readonly outcome: AuditOutcome;
  readonly durationMs?: number | undefined;
  /** JSON-RPC error code, or the HTTP status where the operation has no JSON-RPC response. */
  readonly code?: number | undefined;
  /** Code of the catalogue of errors. */
  readonly error?: string | undefined;
  readonly detail?: string | undefined;
  readonly bytesOut?: number | undefined;
  readonly httpStatus?: number | undefined;
  /** The policy and the rule that decided. */
  readonly policy?: string | undefined;
  readonly rule?: string | undefined;
  /** The setting that refused, where it is no rule. */
  readonly refusal?: string | undefined;
  readonly target?: string | undefined;
  readonly session?: string | undefined;
}

/** An operation of a caller or an operator. */
export interface AuditedOperation {
  /** Milliseconds since the epoch. */
  readonly time: number;
  readonly operation: string;
  readonly caller: AuditedCaller;
  readonly requestId?: string | undefined;
  /** JSON-RPC id as the client wrote it. */
  readonly rpcId?: string | undefined;
  readonly kind?: string | undefined;
  readonly name?: string | undefined;
  /** JSON text. */
  readonly arguments?: string | undefined;
  readonly bytesIn?: number | undefined;
  readonly traceId?: string | undefined;
  readonly listener?: string | undefined;
  readonly route?: string | undefined;
  /** Joins the intent and the outcome of one operation. */
  readonly uid?: string | undefined;
}

const create = 1;
const read = 2;
const update = 3;
const remove = 4;
const other = 99;

/** Activities of class 6003; every other operation is `other`. */
const activities: ReadonlyMap<string, number> = new Map([
  ['initialize', create],
  ['resources/subscribe', create],
  ['subscriptions/listen', create],
  ['gateway.start', create],
  ['audit.start', create],
  ['ping', read],
  ['server/discover', read],
  ['tools/list', read],
  ['prompts/list', read],
  ['prompts/get', read],
  ['resources/list', read],
  ['resources/templates/list', read],
  ['resources/read', read],
  ['completion/complete', read],
  ['tasks/list', read],
  ['tasks/get', read],
  ['tasks/result', read],
  ['stream/open', read],
  ['logging/setLevel', update],
  ['tasks/update', update],
  ['config.load', update],
  ['config.reject', update],
  ['pin.approve', update],
  ['pin.reject', update],
  ['tasks/cancel', remove],
  ['resources/unsubscribe', remove],
  ['session/delete', remove],
  ['gateway.stop', remove],
  ['audit.stop', remove],
]);

const head = `"metadata.version":"${ocsfVersion}","metadata.product.name":"Portcullis","metadata.product.version":${JSON.stringify(version())},"category_uid":6,"class_uid":6003,"severity_id":1`;

/** Longest text of a client in a line, in characters. */
const maxText = 512;
const maxGroups = 64;

/** A text that a client wrote, and that may hold anything. */
const text = (name: string, value: string | undefined): string =>
  value === undefined || value === ''
    ? ''
    : `,"${name}":${JSON.stringify(hideSecretForms(value.slice(0, maxText)))}`;
/** A text of the gateway, of its configuration, or of a token that was proven. */
const trusted = (name: string, value: string | undefined): string =>
  value === undefined || value === '' ? '' : `,"${name}":${JSON.stringify(value.slice(0, maxText))}`;
/** Ids that hold no secret by their form: numbers, and those that the gateway makes. */
const plainId = /^(?:\d{1,16}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;
const id = (name: string, value: string | undefined): string =>
  value !== undefined && plainId.test(value) ? `,"${name}":"${value}"` : text(name, value);
const number = (name: string, value: number | undefined): string =>
  value === undefined ? '' : `,"${name}":${value}`;

/** The beginning of each line. A JSON string cannot hold these characters unescaped, so a reader finds torn lines. */
export const lineStart = '{"time":';

function beginning(operation: AuditedOperation, phase: string | undefined): string {
  const { caller, operation: name } = operation;
  const activity = activities.get(name) ?? other;
  let line =
    `${lineStart}${operation.time},"time_dt":"${timestamp(operation.time)}",${head},"activity_id":${activity}` +
    `,"type_uid":${600_300 + activity}${activities.has(name) || name === 'tools/call' ? trusted('api.operation', name) : text('api.operation', name)}`;
  if (phase !== undefined)
    line += `,"mcp.phase":"${phase}","metadata.correlation_uid":"${operation.uid ?? ''}"`;
  line +=
    id('api.request.uid', operation.requestId) +
    trusted('actor.session.issuer', caller.issuer) +
    trusted('actor.user.uid', caller.subject) +
    trusted('actor.user.name', caller.user) +
    trusted('actor.user.credential_uid', caller.apiKey) +
    trusted('actor.app_uid', caller.clientId);
  if (caller.groups !== undefined)
    line += `,"actor.user.groups":${JSON.stringify(caller.groups.slice(0, maxGroups).map((group) => hideSecretForms(group.slice(0, maxText))))}`;
  return (
    line +
    trusted('src_endpoint.ip', caller.address) +
    number('src_endpoint.port', caller.port) +
    trusted('listener', operation.listener) +
    trusted('route', operation.route) +
    trusted('trace.uid', operation.traceId) +
    id('mcp.id', operation.rpcId) +
    trusted('mcp.kind', operation.kind) +
    (operation.name ? `,"mcp.name":${shownName(operation.name.slice(0, maxText))}` : '') +
    (operation.arguments === undefined ? '' : `,"mcp.arguments":${operation.arguments}`) +
    number('bytes.in', operation.bytesIn)
  );
}

/** The line of an operation that is about to begin. No line has its closing brace: the chain may follow. */
export const intentLine = (operation: AuditedOperation): string => beginning(operation, 'intent');

/** The line of an operation that is over. @param phase `outcome` where an intent went ahead */
export function operationLine(operation: AuditedOperation, end: AuditedEnd, phase?: 'outcome'): string {
  const { outcome, code } = end;
  const succeeded = outcome === 'ok' || outcome === 'input_required';
  return (
    beginning(operation, phase) +
    trusted('mcp.session', end.session) +
    trusted('mcp.target', end.target) +
    (outcome === 'refused' ? ',"action_id":2,"action":"Denied"' : ',"action_id":1,"action":"Allowed"') +
    trusted('policy', end.policy) +
    trusted('rule', end.rule) +
    trusted('mcp.refusal', end.refusal) +
    `,"mcp.outcome":"${outcome}",` +
    (succeeded ? '"status_id":1,"status":"Success"' : '"status_id":2,"status":"Failure"') +
    (code === undefined ? '' : `,"status_code":"${code}"`) +
    trusted('error', end.error) +
    text('status_detail', end.detail) +
    number('http_response.code', end.httpStatus) +
    (end.durationMs === undefined ? '' : `,"duration":${Math.round(end.durationMs * 1_000) / 1_000}`) +
    number('bytes.out', end.bytesOut)
  );
}

/** The line of an event of the stream itself. */
export const streamLine = (
  operation: 'audit.start' | 'audit.stop' | 'audit.lost',
  fields: Readonly<Record<string, string | number>>,
): string =>
  beginning({ time: Date.now(), operation, caller: {} }, undefined) +
  Object.entries(fields)
    .map(([name, value]) => `,${JSON.stringify(name)}:${JSON.stringify(value)}`)
    .join('');
