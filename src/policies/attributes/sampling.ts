import { celNumber, compile, isProblem, type Program } from '../../cel/index.ts';
import type { Exchange } from '../policy.ts';
import { contextFor } from './context.ts';
import { samplingAttributes } from './declared.ts';
import { evaluate } from './evaluate.ts';

/** A share from 0 to 1, or true or false, or an expression that comes to one of them. */
export type SamplingSetting = string | number | boolean;

/** Says which share of the requests that are alike is traced. */
export interface Sampling {
  /** No request has a greater share. */
  readonly most: number;
  /** From 0 to 1. */
  shareOf(exchange: Exchange): number;
}

/**
 * Compiles a setting of sampling. A request for which its expression fails is not traced.
 * @param name names the setting in the log
 * @throws Error for an expression that does not compile
 */
export function compileSampling(setting: SamplingSetting, name: string): Sampling {
  const share = typeof setting === 'string' ? shareOf(setting) : Number(setting);
  if (share !== undefined) return { most: share, shareOf: () => share };
  const program = compile(String(setting), samplingAttributes);
  if (isProblem(program)) throw new Error(program.message);
  return { most: 1, shareOf: byProgram(program, name) };
}

/** The share that a text says; undefined for an expression. */
export const shareOf = (text: string): number | undefined =>
  /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : undefined;

function byProgram(program: Program, name: string): Sampling['shareOf'] {
  const contextOf = contextFor([program]);
  return (exchange) => {
    const value = evaluate(program, contextOf(exchange), exchange, name);
    return typeof value === 'boolean' ? Number(value) : (celNumber(value) ?? 0);
  };
}
