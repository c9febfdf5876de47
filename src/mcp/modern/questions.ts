/** The questions that servers may ask the clients of the modern era (MCP 2026-07-28, "Multi Round-Trip Requests"). */

import { memberOf, type Envelope, type Span } from '../json/envelope.ts';
import { Members } from '../json/scan.ts';

/** Requests that can answer with questions. */
export const askingMethods: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);

const tasks = 'io.modelcontextprotocol/tasks';

/** The capability that requests about tasks need, in the form of declared capabilities. */
export const tasksCapability: object = { extensions: { [tasks]: {} } };

/** Do the declared capabilities (JSON text of a client or a server) have the tasks extension? */
export function hasTasks(capabilities: string): boolean {
  const extensions = memberOf(capabilities, { start: 0, end: capabilities.length }, 'extensions');
  return extensions !== 'ambiguous' && memberOf(capabilities, extensions, tasks) !== undefined;
}

/** Members of the params that differ from round to round. */
const changing: ReadonlySet<string> = new Set(['_meta', 'inputResponses', 'requestState']);

/** The params that all rounds of a request share, whatever the order of their members. */
export function lastingParams({ text, body }: Envelope): string {
  if (body === undefined) return '{}';
  const params = JSON.parse(text.slice(body.start, body.end)) as Record<string, unknown>;
  return JSON.stringify(
    sorted(Object.fromEntries(Object.entries(params).filter(([key]) => !changing.has(key)))),
  );
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return members.map(([key, one]) => [key, sorted(one)]);
}

/** The answers of the client, as JSON texts by the keys of the questions. */
export function inputResponses({ text, body }: Envelope): ReadonlyMap<string, string> {
  const place: Span | 'ambiguous' | undefined = memberOf(text, body, 'inputResponses');
  const answers = new Map<string, string>();
  if (typeof place !== 'object' || text.charCodeAt(place.start) !== 0x7b) return answers;
  const members = new Members(text, place.start);
  while (members.next()) answers.set(members.key, text.slice(members.start, members.end));
  return answers;
}
