import type { z } from 'zod';
import { layersOf } from '../schema/index.ts';

/** `; 10s by default`, `; V4Preferred, which Auto stands for, by default` */
const byDefault = /(?:^|; )([^;]{1,60}?),? by default\b/;
/** `standard, the default` */
const theDefault = /(?:^|[;:.] )([^\s;:,]{1,40}), the default\b/;
/** `by default every address of the machine` */
const defaultIs = /\bby default ([^;.,]{1,60})[;.,]/;

/**
 * The value of a field that the configuration does not set, as a reader writes it: that of its schema, or the one that
 * its description names. @returns undefined for a field that has no effect then
 */
export function defaultText(field: z.core.$ZodType): string | undefined {
  for (const layer of layersOf(field)) {
    const { def } = (layer as z.core.$ZodTypes)._zod;
    if (def.type === 'default') return textOf(def.defaultValue);
    const { description } = layer as z.ZodType;
    const named =
      description === undefined
        ? undefined
        : (byDefault.exec(description) ?? theDefault.exec(description) ?? defaultIs.exec(description));
    const [first] = named?.[1]?.split(', ') ?? [];
    if (first !== undefined) return first;
  }
  return undefined;
}

function textOf(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return String(value);
  return Object.keys(value).length === 0 ? undefined : JSON.stringify(value);
}
