/** The words of a client about itself, as each request of the modern era repeats them. */

import { cut, memberOf, type Envelope, type Span } from '../../json/envelope.ts';
import { memberEdits, objectMembers } from '../../json/objectMembers.ts';
import { isRecord, parsed } from '../../json/parsed.ts';
import { splice } from '../../json/scan.ts';
import { metaKeys, modernVersion } from '../../messages/eras.ts';

export interface ClientFacts {
  /** JSON text of an object with a name and a version; undefined where the client does not say. */
  readonly info: string | undefined;
  /** JSON text of an object. */
  readonly capabilities: string;
}

/** The tasks of the two eras differ on the wire: a call from one era to the other is answered without a task. */
export const tasksExtension = 'io.modelcontextprotocol/tasks';

/**
 * Reads the client's `initialize`.
 * @param bridged the client is of the legacy era: the tasks that it knows are others
 */
export function clientFacts({ text, body }: Envelope, bridged: boolean): ClientFacts {
  const info = memberOf(text, body, 'clientInfo');
  const capabilities = memberOf(text, body, 'capabilities');
  return {
    info: typeof info === 'object' && isImplementation(text, info) ? cut(text, info) : undefined,
    capabilities:
      typeof capabilities === 'object' && text.charCodeAt(capabilities.start) === 0x7b
        ? withoutTasks(cut(text, capabilities), bridged)
        : '{}',
  };
}

function isImplementation(text: string, span: Span): boolean {
  const info = JSON.parse(text.slice(span.start, span.end)) as { name?: unknown; version?: unknown } | null;
  return typeof info?.name === 'string' && typeof info.version === 'string';
}

/**
 * Capabilities without what one era says of tasks to the other.
 * @param text JSON text of an object
 */
export function withoutTasks(text: string, bridged: boolean): string {
  if (!bridged) return text;
  const whole: Span = { start: 0, end: text.length };
  const members = objectMembers(text, whole) ?? [];
  const edits = [...memberEdits(text, whole, members, (name) => name === 'tasks')];
  const extensions = members.find(({ name }) => name === 'extensions')?.value;
  const inner = extensions && objectMembers(text, extensions);
  if (extensions !== undefined && inner !== undefined)
    edits.push(...memberEdits(text, extensions, inner, (name) => name === tasksExtension));
  return splice(text, edits);
}

/** The members of `_meta` that each request carries, as JSON text. */
export const metaOf = ({ info, capabilities }: ClientFacts, logLevel?: string): string =>
  [
    `"${metaKeys.protocolVersion}":"${modernVersion}"`,
    ...(info === undefined ? [] : [`"${metaKeys.clientInfo}":${info}`]),
    `"${metaKeys.clientCapabilities}":${capabilities}`,
    ...(logLevel === undefined ? [] : [`"${metaKeys.logLevel}":${JSON.stringify(logLevel)}`]),
  ].join(',');

/** Characters that the id of a session has for them. */
const maxCarried = 512;
/** No server may name its session like this: spaces are no part of such names. */
const mark = ' ';

/**
 * The facts as a text of ASCII, for another process that goes on with the session. Where all of them are too long, the
 * capabilities to answer questions are left.
 */
export function carried(facts: ClientFacts): string {
  const { capabilities } = facts;
  const all = JSON.parse(capabilities) as Record<string, unknown>;
  const known = Object.fromEntries(
    ['elicitation', 'sampling', 'roots'].filter((name) => isRecord(all[name])).map((name) => [name, {}]),
  );
  const forms = [facts, { ...facts, info: undefined }].map(textOf);
  return (
    forms.find((text) => text.length <= maxCarried) ??
    textOf({ info: undefined, capabilities: JSON.stringify(known) })
  );
}

const textOf = ({ info = 'null', capabilities }: ClientFacts): string =>
  `${mark}[${info},${capabilities}]`.replaceAll(
    /[^\x20-\x7e]/g,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** Is this what `carried` wrote? */
export const isCarried = (serverSession: string | undefined): serverSession is string =>
  serverSession?.startsWith(mark) === true;

/** Reads what `carried` wrote. */
export function readCarried(text: string): ClientFacts {
  const read = parsed(text.slice(mark.length));
  const [info, capabilities] = Array.isArray(read) ? (read as unknown[]) : [];
  if (!isRecord(capabilities)) return { info: undefined, capabilities: '{}' };
  return {
    info: isRecord(info) ? JSON.stringify(info) : undefined,
    capabilities: JSON.stringify(capabilities),
  };
}
