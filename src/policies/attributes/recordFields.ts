/** Fields that CEL expressions compute for a request that has ended: of its access log line, or of its span. */

import { compile, durationMs, isProblem, type CelProblem, type Program } from '../../cel/index.ts';
import { hideSecretForms, isSecretName, redacted } from '../../telemetry/index.ts';
import type { Exchange } from '../policy.ts';
import { endedAttributes } from './declared.ts';
import { endedContextFor, jsonOf, type EndedRequest } from './endedRequest.ts';
import { expressionWork } from './evaluate.ts';
import { failureReason } from './failureReason.ts';

/** The value of a field: JSON data. */
export type FieldValue = string | number | boolean | object;
export type ComputedFields = Readonly<Record<string, FieldValue>>;

export interface RecordSettings {
  /** Only requests for which it is true have a record; absent: all. */
  readonly filter?: string;
  /** Expressions by the name of their field. */
  readonly add?: Readonly<Record<string, string>>;
}

/** The attributes in which credentials of clients stand. */
const secretPlaces = ['request.headers', 'response.headers', 'request.uri', 'request.pathAndQuery'];

/** Settings of records, compiled. */
export interface CompiledRecord {
  /** `EndedRequest.responseLines` must be there. */
  readonly readsResponse: boolean;
  /** @returns the added fields, or undefined where the request has no record */
  of(exchange: Exchange & { workLeft: number }, ended: EndedRequest): ComputedFields | undefined;
}

/** An expression, and the way in which its value becomes fields. */
interface FieldProgram {
  readonly program: Program;
  readonly depth: number;
}

/** Fields that one `flatten` may make, and characters of one value. */
const most = { fields: 64, characters: 8_192 };
const levels: Readonly<Record<string, number>> = { flatten: 1, flattenRecursive: 16 };

/** Compiles the expression of a field. `flatten` and `flattenRecursive` may stand around the whole of it. */
export function compileField(source: string): FieldProgram | CelProblem {
  const [, name = '', inner = source] = /^\s*(flatten|flattenRecursive)\s*\(([^]*)\)\s*$/.exec(source) ?? [];
  const program = compile(inner, endedAttributes);
  if (!isProblem(program)) return { program, depth: levels[name] ?? 0 };
  return { ...program, offset: program.offset + source.indexOf(inner) };
}

/**
 * Compiles a filter and the added fields. A field whose expression fails is left out, and a filter that fails is not true.
 * @param setting names the settings in the log, where an expression fails
 * @throws Error for an expression that does not compile
 */
export function compileRecord({ filter, add = {} }: RecordSettings, setting: string): CompiledRecord {
  const fields = Object.entries(add).map(([name, source]) => ({ name, ...checked(compileField(source)) }));
  const condition = filter === undefined ? undefined : checked(compile(filter, endedAttributes));
  const programs = [...fields.map(({ program }) => program), ...(condition ? [condition] : [])];
  const contextOf = endedContextFor(programs);
  const readsSecrets = programs.some(
    (program) =>
      secretPlaces.some((name) => program.uses(name)) ||
      ['request', 'response'].some((name) => program.wholes.includes(name)),
  );
  return {
    readsResponse: programs.some(
      (program) =>
        program.uses('response.headers') ||
        program.uses('response.grpcStatus') ||
        program.wholes.includes('response'),
    ),
    of(exchange, ended) {
      exchange.workLeft = expressionWork;
      const context = contextOf(exchange, ended);
      const run = ({ program }: { readonly program: Program }, place: string): unknown => {
        const value = program.run(context, exchange);
        if (!(value instanceof Error)) return value;
        const reason = failureReason(value.message, program.source);
        if (!isAbsence(reason)) exchange.expressionFailed?.({ policy: setting, rule: place, place }, reason);
        return undefined;
      };
      if (condition !== undefined && run({ program: condition }, '.filter') !== true) return undefined;
      const hide = readsSecrets ? hiding(secretsOf(exchange, ended)) : hideSecretForms;
      const values: Record<string, FieldValue> = {};
      for (const field of fields) {
        const value = run(field, `.add.${field.name}`);
        if (value !== undefined) spread(values, field.name, shown(value, hide), field.depth);
      }
      return values;
    },
  };
}

function checked<T extends object>(compiled: T | CelProblem): T {
  if ('message' in compiled) throw new Error(compiled.message);
  return compiled;
}

/** Many requests lack an attribute: that is no failure of the expression. */
const isAbsence = (reason: string): boolean =>
  reason.includes('has no value here') || reason.includes('field not found');

/** JSON data without secrets; undefined for null and for values that have no JSON form. */
function shown(value: unknown, hide: (text: string) => string): FieldValue | undefined {
  const ms = durationMs(value);
  const data = ms === undefined ? jsonOf(value) : `${ms / 1_000}s`;
  if (data === undefined || data === null) return undefined;
  if (typeof data === 'number' || typeof data === 'boolean') return data;
  if (typeof data === 'string') return clip(hide(data));
  const text = JSON.stringify(data, (name, member: unknown) => {
    if (typeof member !== 'string') return member;
    return hidesHeader(name) ? redacted : hide(member);
  });
  return text.length > most.characters ? clip(text) : (JSON.parse(text) as object);
}

const clip = (text: string): string =>
  text.length > most.characters ? `${text.slice(0, most.characters)}…` : text;

/** Adds a value under its name, or its members under names of their own. */
function spread(
  into: Record<string, FieldValue>,
  name: string,
  value: FieldValue | null | undefined,
  depth: number,
): void {
  if (value === undefined || value === null) return;
  if (depth === 0 || typeof value !== 'object') {
    if (Object.keys(into).length < most.fields) into[name] = value;
    return;
  }
  for (const [member, inner] of Object.entries(value as Readonly<Record<string, FieldValue | null>>))
    spread(into, `${name}.${member}`, inner, depth - 1);
}

/** Texts that no field may show. An expression may use them, for a hash. */
interface Secrets {
  /** Hidden where they are the value of a field, however short they are. */
  readonly whole: ReadonlySet<string>;
  /** Hidden wherever they stand; the longest comes first, because one can be a part of another. */
  readonly anywhere: readonly string[];
}

/** Shorter secrets stay within longer texts: they would tear ordinary words apart. */
const shortest = { whole: 4, part: 8 };

/** The ids of MCP sessions are secrets, too. */
const hidesHeader = (name: string): boolean => isSecretName(name) || name === 'mcp-session-id';

function secretsOf({ request }: Exchange, { responseLines, credentials }: EndedRequest): Secrets {
  const headers = [...request.headerLines(), ...responseLines].flatMap(([name, value]) =>
    hidesHeader(name) ? [value] : [],
  );
  const whole = new Set([...headers, ...(credentials?.() ?? []), ...sessionsIn(request.query)]);
  const parts = headers.flatMap((value) => value.split(/[\s;,=]+/));
  const anywhere = new Set([
    ...[...whole].filter((text) => text.length >= shortest.whole),
    ...parts.filter((text) => text.length >= shortest.part),
  ]);
  whole.delete('');
  return { whole, anywhere: [...anywhere].toSorted((a, b) => b.length - a.length) };
}

/** Clients of HTTP+SSE name their session in the query. */
const sessionsIn = (query: string): readonly string[] =>
  query.includes('sessionId=') ? new URLSearchParams(query).getAll('sessionId') : [];

/** Characters that the search may read for one request: a client decides how many secrets it sends, and how much text. */
const mostRead = 16_000_000;

/** Hides secrets in the texts of one request. A text is hidden as a whole where its search would read too much. */
function hiding({ whole, anywhere }: Secrets): (text: string) => string {
  let left = mostRead;
  return (text) => {
    if (whole.has(text)) return redacted;
    const reads = text.length * anywhere.length;
    if (reads > left) return redacted;
    left -= reads;
    return hideSecretForms(anywhere.reduce((rest, secret) => rest.replaceAll(secret, redacted), text));
  };
}
