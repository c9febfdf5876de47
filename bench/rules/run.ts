import { celLimits, compile, isProblem, newMeter, type CelContext } from '../../src/cel/index.ts';
import type { BenchArguments } from '../arguments.ts';
import { spread } from '../statistics.ts';
import { worstCases } from './cases.ts';

/** The CPU time that one rule took on the request that was made for it. */
export interface RuleCell {
  readonly rule: string;
  /** Milliseconds of CPU, the median of the runs. */
  readonly ms: number;
  readonly units: number;
  /** Did it spend the budget of the request? */
  readonly spent: boolean;
}

/** The rules of `cases.ts`, in this process: no socket takes part in what they cost. */
export function benchRules(args: BenchArguments): RuleCell[] {
  return args.wants('rules') ? worstCases.map((one) => measure(one.rule, one.headers, 5 * args.rounds)) : [];
}

function measure(rule: string, headers: Readonly<Record<string, string>>, runs: number): RuleCell {
  const program = compile(rule, {
    request: { kind: 'object', members: { headers: { kind: 'headers' } } },
  });
  if (isProblem(program)) throw new Error(`${rule}: ${program.message}`);
  const context: CelContext = { request: new Map([['headers', new Map(Object.entries(headers))]]) };
  let units = 0;
  const samples = Array.from({ length: runs }, () => {
    const meter = newMeter();
    const before = process.threadCpuUsage();
    program.run(context, meter);
    const { user, system } = process.threadCpuUsage(before);
    units = celLimits.work - meter.workLeft;
    return (user + system) / 1000;
  });
  return { rule, ms: spread(samples).median, units, spent: units > celLimits.work };
}
