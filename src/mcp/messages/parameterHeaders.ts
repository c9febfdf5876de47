/** `Mcp-Param-*` headers for tools whose parameters say so (2026-07-28, "Custom Headers from Tool Parameters"). */

import type { HeaderLine } from '../../http/index.ts';
import { ownCopy } from '../../ownCopy.ts';
import { memberOf, stringValue, type Envelope, type Span } from '../json/envelope.ts';
import { parsed } from '../json/parsed.ts';
import { Elements, type Edit } from '../json/scan.ts';
import { annotation, headerParameters, type HeaderParameter } from './headerParameters.ts';
import { headerValue, parameterPrefix } from './mirroredHeaders.ts';

/** Tools with annotations that are remembered, and the size of the schema of one. */
const maxTools = 512;
const maxSchema = 262_144;
/** Characters of a value: no server takes longer headers. */
const maxValue = 8_192;

/** The annotations of the tools of one server, as far as a session has listed them. */
export class ParameterHeaders {
  private readonly byTool = new Map<string, readonly HeaderParameter[]>();

  /**
   * Learns from a response to `tools/list`.
   * @returns the names of tools whose annotations are wrong, and the edits that take these tools out of the list
   */
  learn({ text, body }: Envelope): { readonly wrong: readonly string[]; readonly edits: readonly Edit[] } {
    const wrong: string[] = [];
    // Few servers have annotations, and lists are long.
    if (this.byTool.size === 0 && !text.includes(annotation)) return { wrong, edits: [] };
    const list = memberOf(text, body, 'tools');
    if (typeof list !== 'object') return { wrong, edits: [] };
    const kept: string[] = [];
    const tools = new Elements(text, list.start);
    while (tools.next()) {
      const { start, end } = tools;
      const name = this.learnTool(text, { start, end });
      if (name === undefined) kept.push(text.slice(start, end));
      else wrong.push(name);
    }
    if (wrong.length === 0 || tools.broken) return { wrong: [], edits: [] };
    return { wrong, edits: [{ ...list, replacement: `[${kept.join(',')}]` }] };
  }

  /** @returns the name of a tool whose annotations are wrong */
  private learnTool(text: string, tool: Span): string | undefined {
    const place = memberOf(text, tool, 'name');
    const name = place === 'ambiguous' ? undefined : stringValue(text, place);
    if (name === undefined) return undefined;
    this.byTool.delete(name);
    const schema = memberOf(text, tool, 'inputSchema');
    if (typeof schema !== 'object' || schema.end - schema.start > maxSchema) return undefined;
    const written = text.slice(schema.start, schema.end);
    if (!written.includes(annotation)) return undefined;
    const found = headerParameters(parsed(written));
    if (found === undefined) return name;
    if (found.length > 0 && this.byTool.size < maxTools) this.byTool.set(ownCopy(name), found);
    return undefined;
  }

  /** The headers of a call of a tool. @param tool the server's own name for it */
  of(tool: string, { text, body }: Pick<Envelope, 'text' | 'body'>): readonly HeaderLine[] {
    return (this.byTool.get(tool) ?? []).flatMap(({ header, path }): HeaderLine[] => {
      const value = valueAt(text, body, ['arguments', ...path]);
      return value === undefined ? [] : [[`${parameterPrefix}${header}`, headerValue(value)]];
    });
  }
}

/** A primitive value of the arguments as text; undefined where there is none. */
function valueAt(text: string, body: Span | undefined, path: readonly string[]): string | undefined {
  let span = body;
  for (const name of path) {
    const found = memberOf(text, span, name);
    if (typeof found !== 'object') return undefined;
    span = found;
  }
  if (span === undefined || span.end - span.start > maxValue) return undefined;
  const value = parsed(text.slice(span.start, span.end));
  if (typeof value === 'string' || typeof value === 'boolean') return String(value);
  return Number.isSafeInteger(value) ? String(value) : undefined;
}
