import type { CelContext, Members, Program } from '../../cel/index.ts';
import type { Exchange } from '../policy.ts';
import { compiled } from './compiled.ts';
import { contextFor } from './context.ts';
import { jsonOf } from './endedRequest.ts';
import { evaluate } from './evaluate.ts';

/** JSON values by name. */
export type JsonMembers = Record<string, JsonValue>;
type JsonValue = null | boolean | number | string | JsonValue[] | { [name: string]: JsonValue };

/** Named expressions whose values go to a server that a policy asks. */
export class JsonValues {
  private readonly programs: readonly { readonly name: string; readonly program: Program }[];
  private readonly contextOf: ReturnType<typeof contextFor>;
  private readonly what: string;

  /**
   * @param sources name → CEL expression
   * @param what names the expressions to the operator, such as `mcpGuardrails.metadata`
   * @throws Error where an expression does not compile
   */
  constructor(sources: Readonly<Record<string, string>>, attributes: Members, what: string) {
    this.what = what;
    this.programs = Object.entries(sources).map(([name, source]) => ({
      name,
      program: compiled(source, attributes, `${what}.${name}`),
    }));
    this.contextOf = contextFor(this.programs.map(({ program }) => program));
  }

  /**
   * The values for a request. An expression that fails, or is no JSON, has no value.
   * @param seen changes the context of the expressions
   */
  of(exchange: Exchange, seen = (context: CelContext): CelContext => context): JsonMembers {
    if (this.programs.length === 0) return {};
    const context = seen(this.contextOf(exchange));
    const values: JsonMembers = {};
    for (const { name, program } of this.programs) {
      const value = evaluate(program, context, exchange, this.what);
      const json = value instanceof Error ? undefined : jsonOf(value);
      // JSON has no NaN and no infinity: they become null.
      if (json !== undefined) values[name] = JSON.parse(JSON.stringify(json)) as JsonValue;
    }
    return values;
  }
}
