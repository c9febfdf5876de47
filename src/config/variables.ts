/** Environment variables as a process has them. */
export type Environment = Readonly<Record<string, string | undefined>>;

export interface Expansion {
  readonly text: string;
  readonly changed: boolean;
  /** Names of the variables that were put in. */
  readonly used: readonly string[];
  readonly faults: readonly ExpansionFault[];
  /** Turns an offset within `text` into the offset of the original that it came from. */
  origin(offset: number): number;
}

interface ExpansionFault {
  /** Within the original. */
  readonly offset: number;
  readonly message: string;
  readonly hint: string;
}

interface Piece {
  /** The start of the piece in the expanded text and in the original. */
  readonly to: number;
  readonly from: number;
  readonly literal: boolean;
}

// `$$`, `${…}` (also when it is not closed) or `$NAME`. Any other dollar is an ordinary character.
const reference = /\$(?:\$|\{([^}]*)(\}?)|([A-Za-z_]\w*))/g;
const braced = /^([A-Za-z_]\w*)(?::-([\s\S]*))?$/;

const unsetVariable = (name: string): Pick<ExpansionFault, 'message' | 'hint'> => ({
  message: `the environment variable ${name} is not set`,
  hint: `set it, give a default with \${${name}:-…}, or write $$ for a dollar`,
});

/** Quotes nothing: the text behind the dollar may be the rest of a password or of a hash. */
const strayDollar: Pick<ExpansionFault, 'message' | 'hint'> = {
  message: 'a $ in this value begins the name of an environment variable that is not set',
  hint: 'write $$ for a dollar, or set the variable',
};

/** Is a name without braces clearly that of a variable? @param before the character before its dollar */
const isUsualName = (name: string, before = ''): boolean =>
  /^[A-Z_][A-Z0-9_]*$/.test(name) && !/\w/.test(before);

/** False where `expand` would find nothing to do. */
export const mayExpand = (original: string): boolean => original.includes('$') || original.startsWith('~/');

/**
 * Puts variables into one scalar value: `$NAME`, `${NAME}`, `${NAME:-default}` (the default stands for an unset or
 * empty variable and is not expanded again), `$$` for a dollar, and a leading `~/` for the home directory.
 */
export function expand(original: string, env: Environment): Expansion {
  const faults: ExpansionFault[] = [];
  const used: string[] = [];
  const pieces: Piece[] = [];
  let text = '';
  let read = 0;

  const literal = (end: number): void => {
    if (end > read) pieces.push({ to: text.length, from: read, literal: true });
    text += original.slice(read, end);
    read = end;
  };
  const replace = (value: string, length: number): void => {
    pieces.push({ to: text.length, from: read, literal: false });
    text += value;
    read += length;
  };
  const lookUp = (name: string, offset: number, isMeant = true): string => {
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    if (value !== undefined) return value;
    faults.push({ offset, ...(isMeant ? unsetVariable(name) : strayDollar) });
    return '';
  };

  if (original.startsWith('~/')) {
    replace(lookUp('HOME', 0), 1);
    used.push('HOME');
  }
  for (const found of original.matchAll(reference)) {
    const [whole, inside, close, bare] = found;
    literal(found.index);
    if (whole === '$$') {
      replace('$', 2);
      continue;
    }
    const parts = bare === undefined ? braced.exec(inside ?? '') : [bare, bare];
    if (parts === null || close === '') {
      faults.push({
        offset: found.index,
        message: close === '' ? '${ is not closed' : '${…} is not a variable',
        hint: 'write ${NAME} or ${NAME:-default}, or $$ for a dollar',
      });
      literal(found.index + whole.length);
      continue;
    }
    const [, name = '', fallback] = parts;
    const useFallback = fallback !== undefined && (!Object.hasOwn(env, name) || (env[name] ?? '') === '');
    const isMeant = bare === undefined || whole === original || isUsualName(name, original[found.index - 1]);
    replace(useFallback ? fallback : lookUp(name, found.index, isMeant), whole.length);
    used.push(name);
  }
  literal(original.length);

  return {
    text,
    changed: text !== original || used.length > 0,
    used,
    faults,
    origin(offset) {
      let piece: Piece | undefined;
      for (const candidate of pieces) if (candidate.to <= offset) piece = candidate;
      if (piece === undefined) return offset;
      return piece.literal ? piece.from + (offset - piece.to) : piece.from;
    },
  };
}
