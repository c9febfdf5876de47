/** The names that an expression may use, for editors. They come from the tables that the checks of expressions read. */

import type { CelFunc } from '@bufbuild/cel';
import type { Declared, Members } from './declare.ts';
import { environment } from './evaluate/library.ts';
import { forms, type Form } from './forms.ts';
import { addressTypes } from './functions/addresses.ts';
import { macros } from './macros.ts';

export interface VariableWord {
  /** Dotted, such as `mcp.tool.name`. */
  readonly name: string;
  /** Name of the CEL type; `dyn` where only the run decides. */
  readonly type: string;
}

export interface FunctionWord {
  /** A name with a dot, such as `math.abs`, is written as it is. */
  readonly name: string;
  readonly kind: 'function' | 'macro';
  /** Types of values that have it as a method; absent where it is no method. */
  readonly on?: readonly string[];
  readonly signatures: readonly string[];
}

export interface ExpressionWords {
  readonly variables: readonly VariableWord[];
  readonly functions: readonly FunctionWord[];
}

/** The words for expressions with these variables. Names that have no value there are not among them. */
export const wordsFor = (variables: Members): ExpressionWords => ({
  variables: Object.entries(variables).flatMap(([name, declared]) => variableWords(name, declared)),
  functions: [
    ...functionWords(),
    ...forms.map(formWord),
    ...macros.map((macro): FunctionWord => ({ kind: 'macro', ...macro })),
  ],
});

function variableWords(name: string, declared: Declared): VariableWord[] {
  switch (declared.kind) {
    case 'absent':
      return [];
    case 'value':
      return [{ name, type: declared.type }];
    case 'claims':
    case 'headers':
      return [{ name, type: 'map' }];
    case 'object':
      return [
        { name, type: 'map' },
        ...Object.entries(declared.members).flatMap(([member, each]) =>
          variableWords(`${name}.${member}`, each),
        ),
      ];
  }
}

/** Operators, and the entry of `library.ts`, have names that no expression can write. */
const isWritten = ({ name }: CelFunc): boolean => /^[A-Za-z]/.test(name);

/** A form chooses which of its arguments it evaluates, as a macro does. */
function formWord({ name, method, binds, least, most }: Form): FunctionWord {
  const on = name === 'with' ? 'dyn' : 'map';
  const parts = binds ? ['x', 'value'] : ['a', 'b'].slice(0, Math.max(least, Math.min(most, 1)));
  if (most > 2) parts.push('…');
  const call = `${name}(${parts.join(', ')})`;
  return method
    ? { name, kind: 'macro', on: [on], signatures: [`${on}.${call}`] }
    : { name, kind: 'macro', signatures: [call] };
}

/** The functions of the one environment, a word for all overloads of a name. */
function functionWords(): readonly FunctionWord[] {
  const words = new Map<string, { name: string; on: Set<string> | undefined; signatures: string[] }>();
  for (const func of [...environment.funcs].filter(isWritten)) {
    const { name, target, arguments: given, result } = func;
    const special = addressTypes.get(target === undefined ? name : `.${name}`);
    const on = target && (special?.target ?? target.name);
    const key = on === undefined ? name : `.${name}`;
    const word = words.get(key) ?? { name, on: on === undefined ? undefined : new Set(), signatures: [] };
    if (on !== undefined) word.on?.add(on);
    const taken = given.map((type) => type.name).join(', ');
    const before = on === undefined ? '' : `${on}.`;
    word.signatures.push(`${before}${name}(${taken}) -> ${special?.result ?? result.name}`);
    words.set(key, word);
  }
  return [...words.values()].map(({ name, on, signatures }) => ({
    name,
    kind: 'function',
    ...(on && { on: [...on] }),
    signatures,
  }));
}
