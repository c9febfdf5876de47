/** The parts of a JSON Schema in which defaults stand. */
interface Property {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly anyOf?: readonly unknown[];
  default?: unknown;
}

const pattern = /(?:^|[;.,] )(\S{1,60}) by default(?=[;.,]|$)/;

/** The default that a description ends a clause with, such as `; 30m by default.` */
export function writtenDefault(description: string | undefined): string | undefined {
  const written = pattern.exec(description ?? '')?.[1];
  return written === 'True' || written === 'False' ? written.toLowerCase() : written;
}

/**
 * Gives each property of a JSON Schema the default that its description names, so that editors show it. Many fields get
 * their default after the schema, where other settings are known.
 */
export function addWrittenDefaults(part: unknown): void {
  if (typeof part !== 'object' || part === null) return;
  const { properties } = part as { readonly properties?: Readonly<Record<string, Property>> };
  if (!Array.isArray(part))
    for (const property of Object.values(properties ?? {})) {
      const value = property.default === undefined ? valueOf(property) : undefined;
      if (value !== undefined) property.default = value;
    }
  for (const inner of Object.values(part)) addWrittenDefaults(inner);
}

/** The written default as a value of the property; undefined where it is a word about a value, such as `none`. */
function valueOf({ type, description, anyOf }: Property): unknown {
  const written = writtenDefault(description);
  if (written === undefined) return undefined;
  const types = [type ?? []].flat();
  if (types.includes('boolean')) return written === 'true';
  const isNumber = /^\d+(?:\.\d+)?$/.test(written);
  if (isNumber && (types.includes('integer') || types.includes('number') || anyOf !== undefined))
    return Number(written);
  if (types.includes('array')) return /^\d/.test(written) ? [written] : undefined;
  // A size or a number of another kind; words stand for something else.
  if (anyOf !== undefined) return /^\d/.test(written) ? written : undefined;
  return types.includes('string') && written !== '…' ? written : undefined;
}
