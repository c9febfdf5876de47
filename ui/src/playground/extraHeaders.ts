/** Headers that a person adds to each request of an MCP session. */

import type { RouteView } from '../api/types.ts';

export interface HeaderField {
  readonly id: number;
  readonly name: string;
  readonly value: string;
}

/** The session writes these headers; the admin API refuses those of the connection by itself. */
const ownHeaders = /^(?:accept|content-type|last-event-id|mcp-.*)$/;

/**
 * Reads the fields. Rows that are blank are left out.
 * @param route has a field of its own for the header of its credential
 * @throws Error for a header that cannot be added
 */
export function headersIn(
  fields: readonly HeaderField[],
  { authentication }: Pick<RouteView, 'authentication'>,
): Readonly<Record<string, string>> {
  const headers = new Map<string, string>();
  for (const { name: written, value } of fields) {
    const name = written.trim().toLowerCase();
    if (name === '' && value === '') continue;
    // RFC 9110 §5.6.2, and §5.5 without bytes beyond ASCII.
    if (!/^[!#$%&'*+.^_`|~\da-z-]+$/.test(name)) throw new Error(`“${written}” is no name of a header.`);
    if (!/^[\t\x20-\x7e]*$/.test(value)) throw new Error(`${name}: a value has ASCII characters only.`);
    if (ownHeaders.test(name)) throw new Error(`${name}: the session writes this header itself.`);
    if (name === authentication?.header?.name.toLowerCase())
      throw new Error(`${name}: write the credential of the route into its own field.`);
    if (headers.has(name)) throw new Error(`${name}: the header stands there twice.`);
    headers.set(name, value.trim());
  }
  return Object.fromEntries(headers);
}
