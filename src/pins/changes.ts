/** A place where two definitions differ. */
export interface Change {
  /** Path of the value, such as `inputSchema.properties.path`. */
  readonly path: string;
  /** JSON text; undefined where the value is missing. */
  readonly before: string | undefined;
  readonly after: string | undefined;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The differences between two definitions, both JSON texts. */
export function changesBetween(before: string, after: string): readonly Change[] {
  const changes: Change[] = [];
  compare('', JSON.parse(before), JSON.parse(after), changes);
  return changes;
}

function compare(path: string, before: unknown, after: unknown, changes: Change[]): void {
  if (isObject(before) && isObject(after)) {
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)]))
      compare(path === '' ? name : `${path}.${name}`, before[name], after[name], changes);
    return;
  }
  const [one, other] = [textOf(before), textOf(after)];
  if (one !== other) changes.push({ path, before: one, after: other });
}

const textOf = (value: unknown): string | undefined =>
  value === undefined ? undefined : JSON.stringify(value);
