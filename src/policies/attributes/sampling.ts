import { celNumber, compile, isProblem, type Program } from '../../cel/index.ts';
import type { Exchange } from '../policy.ts';
import { contextFor } from './context.ts';
import { requestAttributes } from './declared.ts';
import { evaluate } from './evaluate.ts';

/** A share from 0 to 1, or true or false, or an expression that comes to one of them. */
export type SamplingSetting = string | number | boolean;

/** Decides whether a request is traced. */
export type Sampling = (exchange: Exchange) => boolean;

/**
 * Compiles a setting of sampling. A request for which its expression fails is not traced.
 * @param name names the setting in the log
 * @throws Error for an expression that does not compile
 */
export function compileSampling(setting: SamplingSetting, name: string): Sampling {
  if (typeof setting === 'boolean') return () => setting;
  const share = typeof setting === 'number' ? setting : shareOf(setting);
  if (share !== undefined) return () => drawn(share);
  const program = compile(String(setting), requestAttributes);
  if (isProblem(program)) throw new Error(program.message);
  return byProgram(program, name);
}

/** The share that a text says; undefined for an expression. */
export const shareOf = (text: string): number | undefined =>
  /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : undefined;

function byProgram(program: Program, name: string): Sampling {
  const contextOf = contextFor([program]);
  return (exchange) => {
    const value = evaluate(program, contextOf(exchange), exchange, name);
    if (typeof value === 'boolean') return value;
    return drawn(celNumber(value) ?? 0);
  };
}

const drawn = (share: number): boolean => share >= 1 || (share > 0 && Math.random() < share);
