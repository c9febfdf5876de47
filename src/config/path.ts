/** Keys and indexes from the top of the document down to a field. */
export type Path = readonly (string | number)[];

const plainKey = /^[A-Za-z_$][\w$-]*$/;

/** `['binds', 0, 'a b']` becomes `binds[0]["a b"]`. */
export function formatPath(path: Path): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else if (!plainKey.test(part)) text += `[${JSON.stringify(part)}]`;
    else text += text === '' ? part : `.${part}`;
  }
  return text;
}

/** The value at a path of plain data; undefined if the path leads nowhere. */
export function valueAt(value: unknown, path: Path): unknown {
  let here = value;
  for (const part of path) {
    if (typeof here !== 'object' || here === null) return undefined;
    here = (here as Record<string | number, unknown>)[part];
  }
  return here;
}
