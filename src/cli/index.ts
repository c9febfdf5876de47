import { readFileSync } from 'node:fs';
import { parseArgs, parseEnv } from 'node:util';
import { messageOf, stackOf } from '../errorText.ts';
import { UsageError, type Command, type Flags, type Terminal } from './command.ts';
import { exitCode } from './exitCode.ts';
import { commandHelp, commonFlags, generalHelp } from './help.ts';
import { version } from '../version.ts';

export { commonFlags, exitCodes } from './help.ts';

/** The commands in the order of `--help`. A process loads the code of its own command only. */
const commands: Readonly<Record<string, () => Promise<Command>>> = {
  run: async () => (await import('./run.ts')).run,
  stdio: async () => (await import('./stdio.ts')).stdioCommand,
  upgrade: async () => (await import('./upgrade.ts')).upgrade,
  init: async () => (await import('./init.ts')).init,
  import: async () => (await import('./import.ts')).importCommand,
  admin: async () => (await import('./admin.ts')).admin,
  console: async () => (await import('./console.ts')).consoleCommand,
  check: async () => (await import('./check.ts')).check,
  explain: async () => (await import('./explain.ts')).explain,
  why: async () => (await import('./why.ts')).why,
  schema: async () => (await import('./schema.ts')).schema,
  pins: async () => (await import('./pins.ts')).pins,
  audit: async () => (await import('./audit.ts')).audit,
  token: async () => (await import('./token.ts')).token,
  idp: async () => (await import('./idp.ts')).idp,
  controller: async () => (await import('./controller.ts')).controller,
  proxy: async () => (await import('./proxy.ts')).proxy,
  completion: async () => (await import('./completion.ts')).completion(everyCommand),
};

function realTerminal(tethered: boolean): Terminal {
  const { stdout, stderr, env } = process;
  // The reader may have seen enough (`portcullis schema | head`): that is no failure of ours.
  for (const stream of [stdout, stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    });
  return {
    out: (text) => void stdout.write(text),
    err: (text) => void stderr.write(text),
    env,
    interactive: stderr.isTTY,
    tethered,
  };
}

/**
 * The command line of Portcullis.
 *
 * @param args Without the program itself.
 * @param started How this process was started: `tethered` where a parent holds a pipe to it.
 * @returns the exit code (`exitCode.ts`); never throws.
 */
export async function main(
  args: readonly string[],
  started: Terminal | { readonly tethered: boolean } = { tethered: false },
): Promise<number> {
  const terminal = 'out' in started ? started : realTerminal(started.tethered);
  try {
    return await dispatch(args, terminal);
  } catch (error) {
    if (error instanceof UsageError) {
      terminal.err(`portcullis: ${error.message}\nSee portcullis --help.\n`);
      return exitCode.usage;
    }
    terminal.err(`portcullis: ${stackOf(error)}\n`);
    return exitCode.failed;
  }
}

async function dispatch(args: readonly string[], terminal: Terminal): Promise<number> {
  if (args.length === 0) {
    const { welcome } = await import('./welcome.ts');
    terminal.err(welcome(process.cwd()));
    return exitCode.usage;
  }
  if (args.length === 2 && args.includes('--json') && (args.includes('--version') || args.includes('-V'))) {
    const said = { name: 'portcullis', version: version(), node: process.version };
    terminal.out(`${JSON.stringify(said)}\n`);
    return exitCode.ok;
  }
  const [first, ...others] = args;
  const named = first !== undefined && !first.startsWith('-');
  const name = named ? first : 'run';
  const found = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (found === undefined)
    throw new UsageError(`unknown command ${JSON.stringify(name)}${await suggestion(name)}`);
  const command = await found();
  const rest = named ? others : args;
  if (command.passThrough === true) return await command.run({}, rest, terminal);

  const { flags, positionals } = await parse(rest, command);
  if (flags['help'] === true) {
    terminal.out(named ? commandHelp(name, command) : generalHelp(await everyCommand()));
    return exitCode.ok;
  }
  if (flags['version'] === true) {
    terminal.out(`portcullis ${version()}\n`);
    return exitCode.ok;
  }
  if (positionals.length > command.positionals)
    throw new UsageError(`unexpected argument ${JSON.stringify(positionals[command.positionals])}`);
  return await command.run(flags, positionals, withFile(flags['env-file'], terminal));
}

/** The environment with the variables of a file. Those of the process win, as for other programs. */
function withFile(file: Flags[string], terminal: Terminal): Terminal {
  if (typeof file !== 'string') return terminal;
  try {
    return { ...terminal, env: { ...parseEnv(readFileSync(file, 'utf8')), ...terminal.env } };
  } catch (error) {
    throw new UsageError(`--env-file: ${messageOf(error)}`);
  }
}

/** All commands in the order of `--help`. */
export async function everyCommand(): Promise<Readonly<Record<string, Command>>> {
  const loaded = Object.entries(commands).map(async ([name, load]) => [name, await load()] as const);
  return Object.fromEntries(await Promise.all(loaded));
}

async function parse(
  args: readonly string[],
  command: Command,
): Promise<{ flags: Flags; positionals: readonly string[] }> {
  const options = Object.fromEntries(
    Object.entries({ ...command.flags, ...commonFlags }).map(([name, { type, short, multiple }]) => [
      name,
      { type, ...(short === undefined ? {} : { short }), ...(multiple === undefined ? {} : { multiple }) },
    ]),
  );
  let parsed;
  try {
    parsed = parseArgs({ args: [...args], options, allowPositionals: true, tokens: true });
  } catch (error) {
    // Only the first sentence: the rest explains `--` to programmers.
    const [problem = ''] = messageOf(error).split('. ');
    const [, unknown] = /^Unknown option '--(.+)'/.exec(problem) ?? [];
    const meant = unknown === undefined ? undefined : await nearestTo(unknown, Object.keys(options));
    throw new UsageError(meant === undefined ? problem : `${problem}; did you mean --${meant}?`);
  }
  for (const [name, { once }] of Object.entries(command.flags)) {
    const given = parsed.tokens.filter((token) => token.kind === 'option' && token.name === name);
    if (once === true && given.length > 1) throw new UsageError(`--${name} is given twice`);
  }
  return { flags: parsed.values as Flags, positionals: parsed.positionals };
}

/** The known name that was probably meant. Only a mistake loads the code that finds it. */
async function nearestTo(name: string, known: readonly string[]): Promise<string | undefined> {
  const { nearest } = await import('../config/index.ts');
  return nearest(name, known);
}

async function suggestion(name: string): Promise<string> {
  const meant = await nearestTo(name, Object.keys(commands));
  if (meant !== undefined) return `; did you mean ${meant}?`;
  return /\.ya?ml$/.test(name) ? `; a configuration is given with -f ${name}` : '';
}
