import { parseArgs } from 'node:util';
import { nearest } from '../config/index.ts';
import { messageOf, stackOf } from '../errorText.ts';
import { admin } from './admin.ts';
import { audit } from './audit.ts';
import { check } from './check.ts';
import { UsageError, type Command, type Flags, type Terminal } from './command.ts';
import { controller } from './controller.ts';
import { exitCode } from './exitCode.ts';
import { explain } from './explain.ts';
import { commandHelp, commonFlags, generalHelp } from './help.ts';
import { idp } from './idp.ts';
import { pins } from './pins.ts';
import { proxy } from './proxy.ts';
import { run } from './run.ts';
import { schema } from './schema.ts';
import { stdioCommand } from './stdio.ts';
import { token } from './token.ts';
import { why } from './why.ts';
import { upgrade } from './upgrade.ts';
import { version } from '../version.ts';

const commands: Readonly<Record<string, Command>> = {
  run,
  stdio: stdioCommand,
  upgrade,
  admin,
  check,
  explain,
  why,
  schema,
  pins,
  audit,
  token,
  idp,
  controller,
  proxy,
};

function realTerminal(tethered: boolean): Terminal {
  const { stdout, stderr, env } = process;
  // The reader may have seen enough (`portcullis schema | head`): that is no failure of ours.
  for (const stream of [stdout, stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    });
  return { out: (text) => void stdout.write(text), err: (text) => void stderr.write(text), env, tethered };
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
  const [first, ...others] = args;
  const named = first !== undefined && !first.startsWith('-');
  const name = named ? first : 'run';
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command === undefined)
    throw new UsageError(`unknown command ${JSON.stringify(name)}${suggestion(name)}`);
  const rest = named ? others : args;
  if (command.passThrough === true) return await command.run({}, rest, terminal);

  const { flags, positionals } = parse(rest, command);
  if (flags['help'] === true) {
    terminal.out(named ? commandHelp(name, command) : generalHelp(commands));
    return exitCode.ok;
  }
  if (flags['version'] === true) {
    terminal.out(`portcullis ${version()}\n`);
    return exitCode.ok;
  }
  if (positionals.length > command.positionals)
    throw new UsageError(`unexpected argument ${JSON.stringify(positionals[command.positionals])}`);
  return await command.run(flags, positionals, terminal);
}

function parse(args: readonly string[], command: Command): { flags: Flags; positionals: readonly string[] } {
  const options = Object.fromEntries(
    Object.entries({ ...command.flags, ...commonFlags }).map(([name, { type, short }]) => [
      name,
      { type, ...(short === undefined ? {} : { short }) },
    ]),
  );
  let parsed;
  try {
    parsed = parseArgs({ args: [...args], options, allowPositionals: true, tokens: true });
  } catch (error) {
    // Only the first sentence: the rest explains `--` to programmers.
    const [problem = ''] = messageOf(error).split('. ');
    const [, unknown] = /^Unknown option '--(.+)'/.exec(problem) ?? [];
    const meant = unknown === undefined ? undefined : nearest(unknown, Object.keys(options));
    throw new UsageError(meant === undefined ? problem : `${problem}; did you mean --${meant}?`);
  }
  for (const [name, { once }] of Object.entries(command.flags)) {
    const given = parsed.tokens.filter((token) => token.kind === 'option' && token.name === name);
    if (once === true && given.length > 1) throw new UsageError(`--${name} is given twice`);
  }
  return { flags: parsed.values as Flags, positionals: parsed.positionals };
}

function suggestion(name: string): string {
  const meant = nearest(name, Object.keys(commands));
  if (meant !== undefined) return `; did you mean ${meant}?`;
  return /\.ya?ml$/.test(name) ? `; a configuration is given with -f ${name}` : '';
}
