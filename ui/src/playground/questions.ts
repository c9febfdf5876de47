/** Questions of servers that a person answers in the page. */

import type { InputSchema } from './mcpTypes.ts';
import { blockIn, schemaIn, textIn } from './serverData.ts';

/** A request of a server to its client. */
export interface Asked {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** A question that waits for its answer. */
export interface Question extends Asked {
  readonly id: number;
  /** Ends the question with the result of the request. */
  answer(result: object): void;
  /** Ends the question with an error: the person refuses. */
  refuse(): void;
}

/** The methods of questions that the page can show. */
export const askable: ReadonlySet<string> = new Set(['elicitation/create', 'sampling/createMessage']);

/** JSON-RPC: the person has refused (MCP, Sampling, "Error Handling"). */
export const refusedCode = -1;

/** Thrown by a question that the person refused. */
export class Refused extends Error {
  constructor() {
    super('The question of the server was refused.');
  }
}

/** The questions that wait. Its owner withdraws them at its end. */
export class Questions {
  list: readonly Question[] = [];
  private lastId = 0;
  private readonly changed: () => void;
  private readonly withdrawals = new Map<number, () => void>();

  constructor(changed: () => void) {
    this.changed = changed;
  }

  /**
   * Asks the person.
   * @param withdrawn ends the question from outside
   * @returns the result
   * @throws Refused
   */
  async ask({ method, params }: Asked, withdrawn?: AbortSignal): Promise<object> {
    const { promise, resolve, reject } = Promise.withResolvers<object>();
    this.lastId += 1;
    const id = this.lastId;
    const refuse = (): void => reject(new Refused());
    withdrawn?.addEventListener('abort', refuse, { once: true });
    this.withdrawals.set(id, refuse);
    this.list = [...this.list, { id, method, params, answer: resolve, refuse }];
    this.changed();
    try {
      return await promise;
    } finally {
      withdrawn?.removeEventListener('abort', refuse);
      this.withdrawals.delete(id);
      this.list = this.list.filter((each) => each.id !== id);
      this.changed();
    }
  }

  /** Refuses all that wait. */
  withdraw(): void {
    for (const refuse of this.withdrawals.values()) refuse();
  }
}

/** The form of an elicitation; undefined where it asks the person to open an address. */
export const formOf = ({ params }: Asked): InputSchema | undefined =>
  params['mode'] === 'url' ? undefined : schemaIn(params['requestedSchema']);

/** The texts of a request for sampling, in their order. */
export function textsOf({ params }: Asked): readonly { readonly role: string; readonly text: string }[] {
  const { systemPrompt, messages } = params;
  const rows: readonly unknown[] = Array.isArray(messages) ? messages : [];
  return [
    ...(typeof systemPrompt === 'string' ? [{ role: 'system', text: systemPrompt }] : []),
    ...rows.map((row) => {
      const { role, content } = Object(row) as { readonly role?: unknown; readonly content?: unknown };
      const parts: readonly unknown[] = Array.isArray(content) ? content : [content];
      const texts = parts.map((part) => blockIn(part).text ?? textIn(part) ?? '');
      return { role: textIn(role) ?? '', text: texts.join('\n') };
    }),
  ];
}
