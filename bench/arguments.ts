import { parseArgs } from 'node:util';

export interface BenchArguments {
  readonly parts: readonly ('http' | 'mcp')[];
  readonly rounds: number;
  /** Length of one measurement. */
  readonly seconds: number;
  /** Names of candidates; undefined is all of them. */
  readonly candidates: readonly string[] | undefined;
  readonly workloads: readonly string[] | undefined;
  readonly profile: boolean;
  /** File for the report; undefined prints it only. */
  readonly output: string | undefined;
}

export const usage = `npm run bench -- [options]

  --only http|mcp         one of the two parts
  --rounds N              interleaved rounds, of which medians are taken (3)
  --seconds N             length of one measurement (3)
  --only-proxies a,b      these candidates only
  --only-workloads a,b    these HTTP workloads only
  --no-write              print the report, leave RESULTS.md as it is
  --profile               CPU profile of portcullis alone, under load
`;

/** @throws Error that says which option is wrong. */
export function readArguments(args: readonly string[]): BenchArguments {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string' },
      rounds: { type: 'string', default: '3' },
      seconds: { type: 'string', default: '3' },
      'only-proxies': { type: 'string' },
      'only-workloads': { type: 'string' },
      'no-write': { type: 'boolean', default: false },
      profile: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(usage);
    process.exit(0);
  }
  const { only } = values;
  if (only !== undefined && only !== 'http' && only !== 'mcp') throw new Error('--only takes http or mcp');
  const partial =
    only !== undefined || values['only-proxies'] !== undefined || values['only-workloads'] !== undefined;
  return {
    parts: only === undefined ? ['http', 'mcp'] : [only],
    rounds: positive('--rounds', values.rounds),
    seconds: positive('--seconds', values.seconds),
    candidates: values['only-proxies']?.split(','),
    workloads: values['only-workloads']?.split(','),
    profile: values.profile,
    // Half a comparison must not overwrite a whole one.
    output: values['no-write'] || partial ? undefined : new URL('RESULTS.md', import.meta.url).pathname,
  };
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > 100) throw new Error(`${name} takes 1 to 100`);
  return value;
}
