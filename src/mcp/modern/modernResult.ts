/** Turns the responses of servers of either era into those of the modern one, field by field. */

import { memberOf, withMembers, readEnvelope, type Envelope, type Span } from '../json/envelope.ts';
import { placeInError } from '../json/errorMember.ts';
import { addition } from '../json/objectMembers.ts';
import { methodMembers } from '../json/ownMessage.ts';
import { splice, type Edit } from '../json/scan.ts';
import type { ResultChanges } from '../session/largeAnswer.ts';
import { modernErrors } from '../messages/eras.ts';
import { KeptLists } from './keptLists.ts';

/** Methods whose results say how long they may be kept (MCP 2026-07-28, "Caching"). */
const cacheable: ReadonlySet<string> = new Set([
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'server/discover',
]);

/** A member that the gateway adds to a result whose server did not write it. */
interface Addition {
  readonly name: string;
  /** JSON text. */
  readonly value: string;
}

const resultType: Addition = { name: 'resultType', value: '"complete"' };
const cacheHints: readonly Addition[] = [
  { name: 'ttlMs', value: '0' },
  { name: 'cacheScope', value: '"private"' },
];
const memberTexts = (additions: readonly Addition[]): string =>
  additions.map(({ name, value }) => `"${name}":${value}`).join(',');

/** The HTTP status of errors that concern the request itself; all others are answers (200). */
const statuses: ReadonlyMap<number, number> = new Map([
  [-32601, 404],
  [modernErrors.headerMismatch, 400],
  [modernErrors.missingCapability, 400],
  [modernErrors.unsupportedVersion, 400],
]);

/** 2025-11-25: resource not found, and "the client has to open a URL first". */
const legacyNotFound = -32002;
const legacyUrlNeeded = -32042;
const maxUrls = 16;

export interface ModernResponse {
  readonly text: string;
  readonly status: number;
}

/**
 * @param text a JSON-RPC response
 * @param idText the id that the response gets
 * @param isPrivate the result depends on the caller: nobody else may keep it
 */
export function modernResponse(
  text: string,
  method: string,
  idText: string,
  isPrivate: boolean,
): ModernResponse {
  const isList = method.endsWith('/list');
  const kept = isList ? lists.find(text, method, idText, isPrivate) : undefined;
  if (kept !== undefined) return { text: kept, status: 200 };
  const response = readEnvelope(text);
  if (typeof response === 'string') return { text, status: 200 };
  const id: Edit = { ...response.idSpan, replacement: idText };
  if (response.isError) return modernError(response, method, id);
  const made = splice(text, [id, ...resultEdits(response, method, isPrivate)]);
  if (isList) lists.keep(text, made, method, idText, isPrivate);
  return { text: made, status: 200 };
}

/**
 * The same for the result of a server, which is not read again.
 * @returns undefined for a list, which may be at hand
 */
export function modernResult(
  response: Envelope,
  method: string,
  idText: string,
  isPrivate: boolean,
): string | undefined {
  if (method.endsWith('/list')) return undefined;
  const { text, idSpan } = response;
  const id: Edit = { start: idSpan.start, end: idSpan.end, replacement: idText };
  return splice(text, [id, ...resultEdits(response, method, isPrivate)]);
}

/**
 * The same for a result that comes in parts.
 * @returns undefined for a list, which must be whole
 */
export function modernChanges(method: string, idText: string, isPrivate: boolean): ResultChanges | undefined {
  if (method.endsWith('/list')) return undefined;
  const added = cacheable.has(method) ? [resultType, ...cacheHints] : [resultType];
  return {
    idText,
    view: {
      watched: new Set(added.map(({ name }) => name)),
      filterMember: (name, value) =>
        (isPrivate ? cacheHints.find((hint) => hint.name === name)?.value : undefined) ?? value,
    },
    addedMembers: (seen) => memberTexts(added.filter(({ name }) => !seen.has(name))),
  };
}

const lists = new KeptLists();
const listMembers = [resultType, ...cacheHints].map(({ name }) => name).concat('inputRequests');

function resultEdits({ text, body }: Envelope, method: string, isPrivate: boolean): Edit[] {
  if (body === undefined || text.charCodeAt(body.start) !== 0x7b) return [];
  const isCacheable = cacheable.has(method);
  if (!isCacheable && showsType(text, body)) return [];
  // Lists are long, so they are read once.
  const result = isCacheable ? withMembers(text, body, listMembers) : body;
  const added: Addition[] = [];
  const edits: Edit[] = [];
  const put = (member: Addition, replaces: boolean): void => {
    const place = memberOf(text, result, member.name);
    if (place === undefined) added.push(member);
    else if (replaces && place !== 'ambiguous') edits.push({ ...place, replacement: member.value });
  };
  put(resultType, false);
  if (isCacheable && memberOf(text, result, 'inputRequests') === undefined)
    for (const hint of cacheHints) put(hint, isPrivate);
  return added.length === 0 ? edits : [...edits, addition(text, body, memberTexts(added))];
}

/** Is `resultType` the first or the last member, as servers write it? Then the result need not be read. */
const showsType = (text: string, { start, end }: Span): boolean =>
  text.startsWith('{"resultType":', start) || text.endsWith('"resultType":"complete"', end - 1);

function modernError(response: Envelope, method: string, id: Edit): ModernResponse {
  const { text } = response;
  const code = placeInError(response, 'code');
  if (code === undefined) return { text: splice(text, [id]), status: 200 };
  const value = Number(text.slice(code.start, code.end));
  if (value === legacyUrlNeeded) {
    const questions = urlQuestions(text);
    if (questions !== undefined) return { text: inputRequired(id.replacement, questions), status: 200 };
  }
  const isMissing = value === legacyNotFound && method.startsWith('resources/');
  const edits = isMissing ? [id, { ...code, replacement: '-32602' }] : [id];
  return { text: splice(text, edits), status: statuses.get(value) ?? 200 };
}

/** A question of a server: the method, and the params as JSON text. */
export interface Question {
  readonly method: string;
  readonly params: string | undefined;
}

/** The result that asks the client (MCP 2026-07-28, "Multi Round-Trip Requests"). */
export function inputRequired(
  idText: string,
  questions: ReadonlyMap<string, Question>,
  requestState?: string,
): string {
  const requests = [...questions].map(
    ([key, { method, params }]) => `${JSON.stringify(key)}:{${methodMembers(method, params)}}`,
  );
  const state = requestState === undefined ? '' : `,"requestState":${JSON.stringify(requestState)}`;
  return `{"jsonrpc":"2.0","id":${idText},"result":{"resultType":"input_required","inputRequests":{${requests.join(',')}}${state}}}`;
}

/** The URLs that a server of 2025-11-25 wants opened before it serves the request (`-32042`). */
function urlQuestions(text: string): Map<string, Question> | undefined {
  const { error } = JSON.parse(text) as { error?: { data?: { elicitations?: unknown } } };
  const list = error?.data?.elicitations;
  if (!Array.isArray(list) || list.length === 0 || list.length > maxUrls) return undefined;
  return new Map(
    list.map((params, index) => [
      `url${index + 1}`,
      { method: 'elicitation/create', params: JSON.stringify(params) },
    ]),
  );
}
