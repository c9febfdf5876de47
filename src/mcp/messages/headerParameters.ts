/** Parameters of tools that headers repeat (2026-07-28, "Custom Headers from Tool Parameters"). */

import { isRecord } from '../json/parsed.ts';

/** A parameter that a header repeats. */
export interface HeaderParameter {
  /** The name of the header behind the prefix. */
  readonly header: string;
  /** The names of the members that lead to the value. */
  readonly path: readonly string[];
}

/** The member of a schema that says so. */
export const annotation = 'x-mcp-header';
const maxParameters = 64;
const maxDepth = 32;
const types: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean']);
/** RFC 9110 §5.6.2. */
const token = /^[\w!#$%&'*+.^`|~-]{1,128}$/;

/** The annotated parameters of a schema; undefined where an annotation breaks the rules. */
export function headerParameters(schema: unknown): readonly HeaderParameter[] | undefined {
  const found: HeaderParameter[] = [];
  const names = new Set<string>();
  const read = (node: unknown, path: readonly string[], reachable: boolean, lists = 0): boolean => {
    if (path.length > maxDepth || lists > maxDepth) return false;
    if (Array.isArray(node)) return node.every((one) => read(one, path, false, lists + 1));
    if (!isRecord(node)) return true;
    const header = node[annotation];
    if (header !== undefined) {
      const isFine =
        reachable &&
        path.length > 0 &&
        typeof header === 'string' &&
        token.test(header) &&
        types.has(node['type']) &&
        !names.has(header.toLowerCase());
      if (!isFine || found.length >= maxParameters) return false;
      names.add(header.toLowerCase());
      found.push({ header, path });
    }
    return Object.entries(node).every(([name, value]) => {
      // Values of these are examples, and no schemas.
      if (name === 'default' || name === 'const' || name === 'enum' || name === 'examples') return true;
      if (name !== 'properties' || !isRecord(value)) return read(value, [...path, name], false, lists);
      return Object.entries(value).every(([key, one]) => read(one, [...path, key], reachable, lists));
    });
  };
  return read(schema, [], true) ? found : undefined;
}
