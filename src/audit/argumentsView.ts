import type { AuditSettings, JsonPath } from '../model/index.ts';
import { hiddenBeginning, redacted, redactText } from '../telemetry/index.ts';
import { isSecretMember } from './secretMembers.ts';
import { shownName } from './shownNames.ts';

/** Longer arguments are named by their size only: to parse them would delay other requests. */
export const maxArguments = 65_536;
const maxDepth = 16;
const maxMembers = 64;
const maxElements = 256;
/** Characters of a value that `redacted` shows. */
const maxText = 1_024;
/** Characters of a name. */
const maxName = 128;

/** A path with the number of its parts that lead to the present value. */
interface Step {
  readonly path: JsonPath;
  readonly at: number;
}

/**
 * Makes the view of arguments for lines, once for each stream.
 * @returns a function from the JSON text of arguments to the JSON text in the line
 */
export function argumentsView({
  arguments: mode,
  redact,
}: Pick<AuditSettings, 'arguments' | 'redact'>): (text: string) => string {
  const start = redact.map((path): Step => ({ path, at: 0 }));
  const write = mode === 'shape' ? (value: unknown) => shapeOf(value, 0) : undefined;
  const values = (value: unknown): string => valueOf(value, 0, start, mode === 'redacted');
  return (text) => {
    if (text.length > maxArguments) return JSON.stringify(`(too large: ${text.length} characters)`);
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return '"(unreadable)"';
    }
    return (write ?? values)(value);
  };
}

const nameText = (name: string): string => shownName(name, maxName);

/** The object with at most `maxMembers` members, each written by `write`. */
function objectText(value: object, write: (name: string, member: unknown) => string): string {
  // One text that grows costs less than a list of parts.
  let text = '';
  const names = Object.keys(value);
  const shown = names.length > maxMembers ? names.slice(0, maxMembers) : names;
  for (const name of shown)
    text += `${text === '' ? '{' : ','}${nameText(name)}:${write(name, (value as Record<string, unknown>)[name])}`;
  if (names.length > maxMembers) text += `,"…":"${names.length - maxMembers} more"`;
  return text === '' ? '{}' : `${text}}`;
}

/** Names and types, without any value. */
function shapeOf(value: unknown, depth: number): string {
  if (value === null) return '"null"';
  if (typeof value !== 'object') return `"${typeof value}"`;
  if (depth >= maxDepth) return '"…"';
  if (Array.isArray(value)) {
    // A list mostly has elements of one shape.
    const shapes = new Set<string>();
    for (const element of value.slice(0, maxElements))
      if (shapes.size < 4) shapes.add(shapeOf(element, depth + 1));
    return `[${[...shapes].join(',')}]`;
  }
  return objectText(value, (_name, member) => shapeOf(member, depth + 1));
}

/** The value itself; without secrets where `hides`. */
function valueOf(value: unknown, depth: number, steps: readonly Step[], hides: boolean): string {
  if (typeof value === 'string') {
    if (!hides) return JSON.stringify(redactText(value));
    const shown = hiddenBeginning(value, maxText);
    return JSON.stringify(value.length > maxText ? `${shown}… (${value.length} characters)` : shown);
  }
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (depth >= maxDepth) return '"…"';
  if (Array.isArray(value)) {
    const shown = value.slice(0, maxElements).map((element: unknown, index) => {
      const next = follow(steps, index);
      return next === 'hidden' ? `"${redacted}"` : valueOf(element, depth + 1, next, hides);
    });
    if (value.length > maxElements) shown.push(`"… ${value.length - maxElements} more"`);
    return `[${shown.join(',')}]`;
  }
  return objectText(value, (name, member) => {
    const next = follow(steps, name);
    if (next === 'hidden' || (hides && isSecretMember(name))) return `"${redacted}"`;
    return valueOf(member, depth + 1, next, hides);
  });
}

/** The paths that go on below a member or element; `hidden` where a path ends there. */
function follow(steps: readonly Step[], key: string | number): readonly Step[] | 'hidden' {
  if (steps.length === 0) return steps;
  const next: Step[] = [];
  for (const { path, at } of steps) {
    const part = path[at];
    const below = part?.kind === 'deep' ? at + 1 : at;
    if (part?.kind === 'deep') next.push({ path, at });
    if (!matches(path[below], key)) continue;
    if (below + 1 === path.length) return 'hidden';
    next.push({ path, at: below + 1 });
  }
  return next;
}

function matches(part: JsonPath[number] | undefined, key: string | number): boolean {
  if (part?.kind === 'any') return true;
  return typeof key === 'string'
    ? part?.kind === 'name' && part.name === key
    : part?.kind === 'index' && part.index === key;
}
