/**
 * The lines of the audit stream: flat JSON objects whose names are the paths of API Activity (class 6003) in the Open
 * Cybersecurity Schema Framework (OCSF), where it has them. docs/audit.md has the table.
 */

import { hiddenBeginning, timestamp } from '../telemetry/index.ts';
import { version } from '../version.ts';
import { flat, keptMember, maxText, type MemberText } from './keptMembers.ts';
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

/** The thing that an operation is about. */
export interface AuditedDetails {
  readonly kind?: string | undefined;
  readonly name?: string | undefined;
  /** JSON text. */
  readonly arguments?: string | undefined;
  /** The trace that the message of the operation names; it goes before the one of the operation. */
  readonly traceId?: string | undefined;
}

/** An operation of a caller or an operator. */
export interface AuditedOperation {
  /** Milliseconds since the epoch. */
  readonly time: number;
  readonly operation: string;
  readonly caller: AuditedCaller;
  readonly requestId?: string | undefined;
  /** The gateway made `requestId`, so it holds no secret. */
  readonly isRequestIdMade?: boolean | undefined;
  /** JSON-RPC id as the client wrote it. */
  readonly rpcId?: string | undefined;
  readonly details?: AuditedDetails | undefined;
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

const maxGroups = 64;

/** A text that a client wrote, and that may hold anything. */
const text = (name: string, value: string | undefined): string =>
  value === undefined || value === '' ? '' : `,"${name}":${JSON.stringify(hiddenBeginning(value, maxText))}`;
/** Ids that hold no secret by their form: numbers, and UUIDs. */
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
function idMember(name: string): MemberText {
  const start = flat(',"', name, '":"');
  return (value) =>
    value !== undefined && (isShortNumber(value) || uuid.test(value))
      ? `${start}${value}"`
      : text(name, value);
}
/** As `/^\d{1,16}$/`, which costs several times as much. */
function isShortNumber(value: string): boolean {
  if (value.length === 0 || value.length > 16) return false;
  for (let at = 0; at < value.length; at++) {
    const code = value.charCodeAt(at);
    if (code < 0x30 || code > 0x39) return false;
  }
  return true;
}
function numberMember(name: string): (value: number | undefined) => string {
  const start = flat(',"', name, '":');
  return (value) => (value === undefined ? '' : start + value);
}
const requestId = idMember('api.request.uid');
const rpcId = idMember('mcp.id');
const port = numberMember('src_endpoint.port');
const bytesIn = numberMember('bytes.in');
const bytesOut = numberMember('bytes.out');
const httpStatus = numberMember('http_response.code');
const duration = numberMember('duration');

/** Texts of the gateway, of its configuration, or of a token that was proven. */
const issuer = keptMember('actor.session.issuer');
const subject = keptMember('actor.user.uid');
const user = keptMember('actor.user.name');
const apiKey = keptMember('actor.user.credential_uid');
const clientId = keptMember('actor.app_uid');
const address = keptMember('src_endpoint.ip');
const listener = keptMember('listener');
const route = keptMember('route');
const kind = keptMember('mcp.kind');
const session = keptMember('mcp.session');
const target = keptMember('mcp.target');
const policy = keptMember('policy');
const refusal = keptMember('mcp.refusal');
const failure = keptMember('error');

/**
 * The beginning of each line, by which a reader finds a line behind a torn one. Of all members, only `mcp.arguments` can hold
 * these characters, too: it is JSON, and all other texts of clients are JSON strings.
 */
export const lineStart = '{"time":';

let second = Number.NaN;
let timeStart = '';
let dateStart = '';
const afterDate = `Z",${head}`;

/** The members up to the activity. The texts of the second are kept, since most lines ask for the same one again. */
function timed(epochMs: number): string {
  const whole = Math.floor(epochMs / 1_000);
  if (whole !== second) {
    second = whole;
    timeStart = `${lineStart}${whole}`;
    dateStart = `,"time_dt":"${timestamp(whole * 1_000).slice(0, 20)}`;
  }
  // A small integer becomes text for less than a part of a large one.
  const ms = String((epochMs - whole * 1_000) | 0).padStart(3, '0');
  return timeStart + ms + dateStart + ms + afterDate;
}

const activityText = (activity: number): string =>
  `,"activity_id":${activity},"type_uid":${600_300 + activity}`;
const api = 'api.operation';
/** The members of the operations that the gateway knows. */
const operations: ReadonlyMap<string, string> = new Map(
  [...activities, ['tools/call', other] as const].map(([name, activity]) => [
    name,
    flat(activityText(activity), `,"${api}":"${name}"`),
  ]),
);

const noDetails: AuditedDetails = {};

function beginning(operation: AuditedOperation, phase: string | undefined): string {
  const { caller, operation: name } = operation;
  const details = operation.details ?? noDetails;
  const traceId = details.traceId ?? operation.traceId;
  let line = timed(operation.time) + (operations.get(name) ?? activityText(other) + text(api, name));
  if (phase !== undefined)
    line += `,"mcp.phase":"${phase}","metadata.correlation_uid":"${operation.uid ?? ''}"`;
  line +=
    (operation.isRequestIdMade === true
      ? `,"api.request.uid":"${operation.requestId ?? ''}"`
      : requestId(operation.requestId)) +
    issuer(caller.issuer) +
    subject(caller.subject) +
    user(caller.user) +
    apiKey(caller.apiKey) +
    clientId(caller.clientId);
  if (caller.groups !== undefined)
    line += `,"actor.user.groups":[${caller.groups
      .slice(0, maxGroups)
      .map((group) => shownName(group, maxText))
      .join(',')}]`;
  return (
    line +
    address(caller.address) +
    port(caller.port) +
    listener(operation.listener) +
    route(operation.route) +
    (traceId ? `,"trace.uid":"${traceId}"` : '') +
    rpcId(operation.rpcId) +
    kind(details.kind) +
    (details.name ? `,"mcp.name":${shownName(details.name, maxText)}` : '') +
    (details.arguments === undefined ? '' : `,"mcp.arguments":${details.arguments}`) +
    bytesIn(operation.bytesIn)
  );
}

/** The line of an operation that is about to begin. No line has its closing brace: the chain may follow. */
export const intentLine = (operation: AuditedOperation): string => beginning(operation, 'intent');

const allowed = ',"action_id":1,"action":"Allowed"';
const denied = ',"action_id":2,"action":"Denied"';
const success = ',"status_id":1,"status":"Success"';
const failed = ',"status_id":2,"status":"Failure"';

/** The line of an operation that is over. @param phase `outcome` where an intent went ahead */
export function operationLine(operation: AuditedOperation, end: AuditedEnd, phase?: 'outcome'): string {
  const { outcome, code } = end;
  return (
    beginning(operation, phase) +
    session(end.session) +
    target(end.target) +
    (outcome === 'refused' ? denied : allowed) +
    policy(end.policy) +
    // The text of a rule may hold a secret as a literal.
    (end.rule ? `,"rule":${shownName(end.rule, maxText)}` : '') +
    refusal(end.refusal) +
    `,"mcp.outcome":"${outcome}"` +
    (outcome === 'ok' || outcome === 'input_required' ? success : failed) +
    (code === undefined ? '' : `,"status_code":"${code}"`) +
    failure(end.error) +
    text('status_detail', end.detail) +
    httpStatus(end.httpStatus) +
    duration(end.durationMs === undefined ? undefined : Math.round(end.durationMs * 1_000) / 1_000) +
    bytesOut(end.bytesOut)
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
