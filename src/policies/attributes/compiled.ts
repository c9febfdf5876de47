import { compile, isProblem, type Members, type Program } from '../../cel/index.ts';

/**
 * Compiles an expression that the schema has checked before.
 * @param what names the expression to the operator, such as `delay.duration`
 * @throws Error for an expression that does not compile
 */
export function compiled(source: string, attributes: Members, what: string): Program {
  const program = compile(source, attributes);
  if (isProblem(program)) throw new Error(`${what}: ${program.message}`);
  return program;
}
