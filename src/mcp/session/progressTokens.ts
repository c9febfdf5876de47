/** Progress tokens: those of servers, as clients see them, and those of tasks, which outlive their calls. */

import { parsedId } from '../json/parsed.ts';
import type { TargetConnection } from '../targets/kind/target.ts';

/** Tokens that are remembered for the tasks of a session. */
const maxTaskTokens = 256;

const tokenKey = ({ name }: TargetConnection, wireId: number): string => `${wireId} ${name}`;

/** Tokens of the client for calls that made a task: progress of the task comes after the response to the call. */
export class TaskTokens {
  /** By the connection and the id of the call there. */
  private readonly tokens = new Map<string, string>();

  /** The token of the client, as JSON text; undefined where the call made no task. */
  get(target: TargetConnection, wireId: number): string | undefined {
    return this.tokens.get(tokenKey(target, wireId));
  }

  remember(target: TargetConnection, wireId: number, tokenText: string): void {
    this.tokens.set(tokenKey(target, wireId), tokenText);
    if (this.tokens.size > maxTaskTokens) {
      const [oldest] = this.tokens.keys();
      this.tokens.delete(oldest!);
    }
  }
}

/** The progress token that a client sees for one of a server; two servers may use the same. */
export const serverToken = (target: string, tokenText: string): string =>
  JSON.stringify(`${target} ${tokenText}`);

/** Reads what `serverToken` wrote; undefined for anything else. */
export function readServerToken(
  token: string | undefined,
): { readonly target: string; readonly tokenText: string } | undefined {
  const [, target, tokenText] = (token !== undefined && /^(\S+) (.+)$/s.exec(token)) || [];
  if (target === undefined || tokenText === undefined || parsedId(tokenText) === undefined) return undefined;
  return { target, tokenText };
}
