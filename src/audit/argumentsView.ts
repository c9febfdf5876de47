import type { AuditSettings, JsonPath } from '../model/index.ts';
import { hiddenBeginning, redacted, redactText } from '../telemetry/index.ts';
import { Elements, Literal, readExact, type Exact, type Extent } from './exactJson.ts';
import { isSecretMember } from './secretMembers.ts';
import { shownName } from './shownNames.ts';

/** Longer arguments are named by their size only: to parse them would delay other requests. */
export const maxArguments = 65_536;
const maxDepth = 16;
const maxMembers = 64;
const maxElements = 256;
const extent: Extent = { depth: maxDepth, members: maxMembers, elements: maxElements };
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
  const write =
    mode === 'shape'
      ? (text: string) => shapeOf(JSON.parse(text), 0)
      : (text: string) => valueOf(readExact(text, extent), 0, start, mode === 'redacted');
  return (text) => {
    if (text.length > maxArguments) return JSON.stringify(`(too large: ${text.length} characters)`);
    try {
      return write(text);
    } catch {
      return '"(unreadable)"';
    }
  };
}

const nameText = (name: string): string => shownName(name, maxName);

/** @param text of at most `maxMembers` members behind a brace @param count of all members */
function objectText(text: string, count: number): string {
  if (text === '') return '{}';
  return count > maxMembers ? `${text},"…":"${count - maxMembers} more"}` : `${text}}`;
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
  // V8 adds to a text for less than it joins a list of parts.
  let text = '';
  const names = Object.keys(value);
  const shown = names.length > maxMembers ? names.slice(0, maxMembers) : names;
  for (const name of shown)
    text += `${text === '' ? '{' : ','}${nameText(name)}:${shapeOf((value as Record<string, unknown>)[name], depth + 1)}`;
  return objectText(text, names.length);
}

/** The value itself; without secrets where `hides`. */
function valueOf(value: Exact, depth: number, steps: readonly Step[], hides: boolean): string {
  if (value instanceof Literal) {
    const shown = textOf(value.text, hides);
    return shown === value.text ? shown : JSON.stringify(shown);
  }
  if (typeof value === 'string') return JSON.stringify(textOf(value, hides));
  if (depth >= maxDepth) return '"…"';
  if (value instanceof Elements) {
    const shown = value.values.map((element, index) => {
      const next = follow(steps, index);
      return next === 'hidden' ? `"${redacted}"` : valueOf(element, depth + 1, next, hides);
    });
    if (value.count > maxElements) shown.push(`"… ${value.count - maxElements} more"`);
    return `[${shown.join(',')}]`;
  }
  let text = '';
  const taken = new Set<string>();
  for (const [name, member] of value.entries) {
    const next = follow(steps, name);
    const isHidden = next === 'hidden' || (hides && isSecretMember(name));
    text += `${text === '' ? '{' : ','}${unusedName(nameText(name), taken)}:`;
    text += isHidden ? `"${redacted}"` : valueOf(member, depth + 1, next, hides);
  }
  return objectText(text, value.count);
}

function textOf(value: string, hides: boolean): string {
  if (!hides) return redactText(value);
  const shown = hiddenBeginning(value, maxText);
  return value.length > maxText ? `${shown}… (${value.length} characters)` : shown;
}

/** A reader of the line would see only one of several members of one name. @param name as JSON */
function unusedName(name: string, taken: Set<string>): string {
  let unused = name;
  for (let count = 2; taken.has(unused); count++) unused = `${name.slice(0, -1)} (repeated ${count})"`;
  taken.add(unused);
  return unused;
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
