/** The parameters of tools that headers repeat (MCP 2026-07-28, "Custom Headers from Tool Parameters"). */

import type { HttpRequest } from '../../http/index.ts';
import { memberOf, stringValue, type Envelope } from '../json/envelope.ts';
import { isRecord, parsed } from '../json/parsed.ts';
import { annotation, headerParameters, type HeaderParameter } from '../messages/headerParameters.ts';
import { decodedValue, parameterPrefix } from '../messages/mirroredHeaders.ts';

const maxTools = 512;

/** Says that a tool can be, or must be, called as a task (MCP 2025-11-25, "Tasks"). */
const taskSupport = 'taskSupport';

/** Has a list any tool that must be remembered? Few have, and lists are long. */
export const isNotable = (response: string): boolean =>
  response.includes(annotation) || response.includes(`"${taskSupport}"`);

/** The annotations of the tools that one caller has listed. */
export class ToolParams {
  private readonly byTool = new Map<string, readonly HeaderParameter[]>();
  /** Tools that can be called as a task only. */
  private readonly tasked = new Set<string>();

  get size(): number {
    return this.byTool.size + this.tasked.size;
  }

  needsTask(tool: string): boolean {
    return this.tasked.has(tool);
  }

  /** Learns from the response to `tools/list`. */
  learn(response: string): void {
    if (this.size === 0 && !isNotable(response)) return;
    // A server may have written something else, and the client gets its response all the same.
    const { result } = (parsed(response) ?? {}) as { result?: { tools?: unknown } };
    if (!Array.isArray(result?.tools)) return;
    for (const tool of result.tools as unknown[]) {
      if (!isRecord(tool) || typeof tool['name'] !== 'string') continue;
      const found = headerParameters(tool['inputSchema']) ?? [];
      // The tool may have had others in an earlier list.
      this.byTool.delete(tool['name']);
      this.tasked.delete(tool['name']);
      const { execution } = tool;
      const isTasked = isRecord(execution) && execution[taskSupport] === 'required';
      if (isTasked && this.tasked.size < maxTools) this.tasked.add(tool['name']);
      if (found.length > 0 && this.byTool.size < maxTools) this.byTool.set(tool['name'], found);
    }
  }

  /** @returns the words that say which header of a call is missing or disagrees with its arguments */
  mismatch(request: Pick<HttpRequest, 'header'>, { text, body }: Envelope): string | undefined {
    if (this.byTool.size === 0 || body === undefined) return undefined;
    const place = memberOf(text, body, 'name');
    const name = place === 'ambiguous' ? undefined : stringValue(text, place);
    const known = name === undefined ? undefined : this.byTool.get(name);
    if (known === undefined) return undefined;
    const params = JSON.parse(text.slice(body.start, body.end)) as Readonly<Record<string, unknown>>;
    for (const { header, path } of known) {
      const value = path.reduce<unknown>(
        (at, one) => (isRecord(at) ? at[one] : undefined),
        params['arguments'],
      );
      const said = request.header(parameterPrefix + header)?.trim();
      if (!agrees(value, said)) return `Mcp-Param-${header} does not repeat the argument ${path.join('.')}`;
    }
    return undefined;
  }
}

function agrees(value: unknown, said: string | undefined): boolean {
  if (value === undefined || value === null) return said === undefined;
  if (said === undefined || !/^[\t\x20-\x7e]*$/.test(said)) return false;
  const decoded = decodedValue(said);
  if (decoded === undefined) return false;
  if (typeof value === 'number') return decoded.trim() !== '' && Number(decoded) === value;
  return typeof value === 'string' || typeof value === 'boolean' ? decoded === String(value) : true;
}
