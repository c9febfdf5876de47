/** Templates of URIs (RFC 6570, levels 1 to 3). */

import type { InputSchema } from './mcpTypes.ts';

interface Operator {
  readonly first: string;
  readonly separator: string;
  readonly isNamed: boolean;
  /** Reserved characters stay as they are. */
  readonly isReserved: boolean;
}

const operators: Readonly<Record<string, Operator>> = {
  '': { first: '', separator: ',', isNamed: false, isReserved: false },
  '+': { first: '', separator: ',', isNamed: false, isReserved: true },
  '#': { first: '#', separator: ',', isNamed: false, isReserved: true },
  '.': { first: '.', separator: '.', isNamed: false, isReserved: false },
  '/': { first: '/', separator: '/', isNamed: false, isReserved: false },
  '?': { first: '?', separator: '&', isNamed: true, isReserved: false },
  '&': { first: '&', separator: '&', isNamed: true, isReserved: false },
};

const expressions = /\{([+#./?&]?)([\w.%,*:]+)\}/g;

const namesIn = (list: string): readonly string[] =>
  list.split(',').map((name) => name.replace(/(?:\*|:\d+)$/, ''));

/** A form with a field for each variable. */
export function schemaOfTemplate(template: string): InputSchema {
  const names = Array.from(template.matchAll(expressions), ([, , list = '']) => namesIn(list)).flat();
  return { properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])) };
}

/** The URI with the values of the variables; those without a value are left out. */
export const expand = (template: string, values: Readonly<Record<string, unknown>>): string =>
  template.replaceAll(expressions, (_, mark: string, list: string) => {
    const { first, separator, isNamed, isReserved } = operators[mark]!;
    const parts = namesIn(list).flatMap((name) => {
      const value = values[name];
      if (value === undefined || value === '') return [];
      const text = isReserved ? encodeURI(String(value)) : encodeURIComponent(String(value));
      return [isNamed ? `${name}=${text}` : text];
    });
    return parts.length === 0 ? '' : first + parts.join(separator);
  });
