import { parseArgs } from 'node:util';

export interface BenchArguments {
  /** Is the part wanted, by the name of its section or of its table? */
  wants(section: string, table?: string): boolean;
  readonly rounds: number;
  /** Length of one measurement. */
  readonly seconds: number;
  readonly warmSeconds: number;
  /** The number of tries for a sample until the machine was quiet meanwhile. */
  readonly tries: number;
  /** Seconds to wait at most, before each sample, for a moment in which nothing else runs. */
  readonly wait: number;
  /** Names of rows; undefined is all of them. */
  readonly proxies: readonly string[] | undefined;
  /** The caller wants the section of MCP only, which has its own place in the report. */
  readonly onlyMcp: boolean;
  /** The caller wants a section that loads HTTP proxies. */
  readonly loadsProxies: boolean;
  /** File for the report; undefined prints it only. */
  readonly output: string | undefined;
}

export const sections = [
  'logged',
  'silent',
  'routes',
  'traces',
  'tls',
  'h2',
  'handshakes',
  'idle',
  'mcp',
  'rules',
] as const;

/** Sections, and a table of theirs, that need no other proxies. */
const withoutProxies: ReadonlySet<string> = new Set(['mcp', 'sessions', 'rules']);

const usage = `npm run bench -- [options]

  --only a,b              sections (${sections.join(', ')})
                          or tables of theirs (get, post, 10k, 1m, get-silent, new, resumed, sessions …)
  --only-proxies a,b      these rows only (portcullis, haproxy, nginx, envoy, portcullis-token …)
  --rounds N              interleaved rounds, of which medians are taken (3)
  --seconds N             length of one measurement (2)
  --tries N               so often a sample is taken at most, until others leave the machine alone (3)
  --wait N                seconds to wait at most for a quiet moment before each sample (0)
  --quick                 one round of one second: what is broken, not what is fast
  --no-write              print the report, leave RESULTS.md as it is

A whole run writes RESULTS.md, and --only mcp (npm run bench:mcp) its section. npm run bench:profile says where the time goes, npm run bench:soak loads for ten
minutes and looks at memory.
`;

/** @throws Error that says which option is wrong. */
export function readArguments(args: readonly string[]): BenchArguments {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      tries: { type: 'string' },
      wait: { type: 'string' },
      'only-proxies': { type: 'string' },
      quick: { type: 'boolean', default: false },
      'no-write': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(usage);
    process.exit(0);
  }
  const { quick } = values;
  const only = values.only?.split(',');
  const onlyMcp = values.only === 'mcp';
  const partial = (only !== undefined && !onlyMcp) || values['only-proxies'] !== undefined;
  return {
    wants: (section, table) =>
      only === undefined || only.includes(section) || (table !== undefined && only.includes(table)),
    rounds: positive('--rounds', values.rounds ?? (quick ? '1' : '3')),
    seconds: positive('--seconds', values.seconds ?? (quick ? '1' : '2')),
    warmSeconds: quick ? 1 : 2,
    tries: positive('--tries', values.tries ?? (quick ? '1' : '3')),
    wait: values.wait === undefined ? 0 : positive('--wait', values.wait),
    proxies: values['only-proxies']?.split(','),
    onlyMcp,
    loadsProxies: only?.every((one) => withoutProxies.has(one)) !== true,
    // Half a comparison must not overwrite a whole one, nor a hasty one a careful one.
    output: values['no-write'] || partial || quick ? undefined : resultsFile,
  };
}

export const resultsFile = new URL('RESULTS.md', import.meta.url).pathname;

function positive(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > 100) throw new Error(`${name} takes 1 to 100`);
  return value;
}
