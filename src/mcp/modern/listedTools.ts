import type { HttpRequest } from '../../http/index.ts';
import type { Envelope } from '../json/envelope.ts';
import { isNotable, ToolParams } from './toolParams.ts';

/** Callers whose tools are remembered. */
const maxCallers = 1_024;

/** The tools with parameters for headers, and those that are tasks only, that each caller has listed. */
export class ListedTools {
  private readonly byCaller = new Map<string, ToolParams>();

  /** @param keyOf names the caller @param response the response to `tools/list` */
  learn(keyOf: () => string, response: string): void {
    // Few servers have any: then the caller need not be named.
    if (this.isEmpty && !isNotable(response)) return;
    const key = keyOf();
    const known = this.byCaller.get(key) ?? new ToolParams();
    known.learn(response);
    // The newest stands last.
    this.byCaller.delete(key);
    if (known.size > 0) this.byCaller.set(key, known);
    if (this.byCaller.size <= maxCallers) return;
    const [oldest] = this.byCaller.keys();
    this.byCaller.delete(oldest!);
  }

  /** No caller has listed a tool that must be remembered. */
  get isEmpty(): boolean {
    return this.byCaller.size === 0;
  }

  /** Did the caller see that the tool can be called as a task only? */
  needsTask(keyOf: () => string, tool: string): boolean {
    return !this.isEmpty && this.byCaller.get(keyOf())?.needsTask(tool) === true;
  }

  /** @returns the words that say which header of a call is missing or disagrees with its arguments */
  mismatch(keyOf: () => string, request: Pick<HttpRequest, 'header'>, message: Envelope): string | undefined {
    if (message.method !== 'tools/call' || this.isEmpty) return undefined;
    return this.byCaller.get(keyOf())?.mismatch(request, message);
  }
}
