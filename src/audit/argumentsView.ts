import type { AuditSettings, JsonPath } from '../model/index.ts';
import { hiddenBeginning, redacted, redactText } from '../telemetry/index.ts';
import { shapeOf } from './argumentsShape.ts';
import { Elements, Literal, readExact, type Exact } from './exactJson.ts';
import { isSecretMember } from './secretMembers.ts';
import { memberStart, objectText, shownExtent, tooDeep } from './shownMembers.ts';

/** Longer arguments are named by their size only: to parse them would delay other requests. */
export const maxArguments = 65_536;
/** Characters of a value that `redacted` shows. */
const maxText = 1_024;

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
      ? shapeOf
      : (text: string) => valueOf(readExact(text, shownExtent), 0, start, mode === 'redacted');
  return (text) => {
    if (text.length > maxArguments) return JSON.stringify(`(too large: ${text.length} characters)`);
    try {
      return write(text);
    } catch {
      return '"(unreadable)"';
    }
  };
}

/** The value itself; without secrets where `hides`. */
function valueOf(value: Exact, depth: number, steps: readonly Step[], hides: boolean): string {
  if (value instanceof Literal) {
    const shown = textOf(value.text, hides);
    return shown === value.text ? shown : JSON.stringify(shown);
  }
  if (typeof value === 'string') return JSON.stringify(textOf(value, hides));
  if (depth >= shownExtent.depth) return tooDeep;
  if (value instanceof Elements) {
    const shown = value.values.map((element, index) => {
      const next = follow(steps, index);
      return next === 'hidden' ? `"${redacted}"` : valueOf(element, depth + 1, next, hides);
    });
    const more = value.count - shownExtent.elements;
    if (more > 0) shown.push(`"… ${more} more"`);
    return `[${shown.join(',')}]`;
  }
  let text = '';
  const taken: string[] = [];
  for (const [name, member] of value.entries) {
    const next = follow(steps, name);
    const isHidden = next === 'hidden' || (hides && isSecretMember(name));
    text += memberStart(name, taken);
    text += isHidden ? `"${redacted}"` : valueOf(member, depth + 1, next, hides);
  }
  return objectText(text, value.count);
}

function textOf(value: string, hides: boolean): string {
  if (!hides) return redactText(value);
  const shown = hiddenBeginning(value, maxText);
  return value.length > maxText ? `${shown}… (${value.length} characters)` : shown;
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
