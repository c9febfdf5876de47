import { newMeter } from '../../cel/index.ts';
import { compiled } from '../attributes/compiled.ts';
import { contextFor } from '../attributes/context.ts';
import { requestAttributes } from '../attributes/declared.ts';
import { evaluate } from '../attributes/evaluate.ts';
import type { Exchange } from '../policy.ts';

/** Runs an expression that comes to a text; undefined where it fails or comes to something else. */
interface TextReader {
  read(exchange: Exchange): string | undefined;
  /**
   * The same for a log that hides the text. `read` has reported a failure already. Other expressions may have spent the
   * work of the request, so this one has work of its own.
   */
  readForLog(exchange: Exchange): string | undefined;
}

/**
 * @param what names the expression in the log
 * @throws Error for an expression that does not compile
 */
export function textReader(expression: string, what: string): TextReader {
  const program = compiled(expression, requestAttributes, what);
  const context = contextFor([program]);
  return {
    read: (exchange) => textOf(evaluate(program, context(exchange), exchange, what)),
    readForLog: (exchange) => textOf(program.run(context(exchange), newMeter())),
  };
}

function textOf(value: unknown): string | undefined {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8');
  return typeof value === 'string' ? value : undefined;
}
