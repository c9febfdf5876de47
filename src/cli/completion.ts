import { UsageError, type Command, type Flag } from './command.ts';
import { exitCode } from './exitCode.ts';
import { commonFlags } from './help.ts';

type Commands = Readonly<Record<string, Command>>;

/** Shell → script for a table of commands. */
const scripts: Readonly<Record<string, (commands: Commands) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

/** @param everyCommand loads the commands, whose flags the script has */
export const completion = (everyCommand: () => Promise<Commands>): Command => ({
  summary: 'print a script that completes commands and flags in a shell: bash, zsh or fish',
  usage: 'bash|zsh|fish',
  flags: {},
  positionals: 1,
  async run(_flags, [shell], terminal) {
    const script = shell !== undefined && Object.hasOwn(scripts, shell) ? scripts[shell] : undefined;
    if (script === undefined) throw new UsageError(`expected one of ${Object.keys(scripts).join(', ')}`);
    terminal.out(script(await everyCommand()));
    return exitCode.ok;
  },
});

const flagsOf = ({ flags }: Command): readonly (readonly [string, Flag])[] =>
  Object.entries({ ...flags, ...commonFlags });

/** Flags as they are typed, and those of them that a value follows. */
function written(command: Command): { readonly all: string; readonly valued: string } {
  const names = ([name, { short }]: readonly [string, Flag]): string[] => [
    `--${name}`,
    ...(short === undefined ? [] : [`-${short}`]),
  ];
  const flags = flagsOf(command);
  return {
    all: flags.flatMap(names).join(' '),
    valued: flags
      .filter(([, { type }]) => type === 'string')
      .flatMap(names)
      .join('|'),
  };
}

/** In single quotes of a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

function bashScript(commands: Commands): string {
  const cases = Object.entries(commands).map(([name, command]) => {
    const { all, valued } = written(command);
    return `    ${name}) flags=${quoted(all)} valued=${quoted(valued)} ;;\n`;
  });
  return `# Completion of portcullis in bash. Load it with: source <(portcullis completion bash)
_portcullis() {
  local word command=run named= flags= valued=
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD - 1]}
  COMPREPLY=()
  case "\${COMP_WORDS[1]}" in
    ${Object.keys(commands).join(' | ')}) [ "$COMP_CWORD" -eq 1 ] || { command=\${COMP_WORDS[1]} named=1; } ;;
  esac
  case "$command" in
${cases.join('')}  esac
  if [ "$COMP_CWORD" -gt 1 ] && [[ "|$valued|" == *"|$previous|"* ]]; then
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  elif [[ "$current" == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$current")
  elif [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W ${quoted(Object.keys(commands).join(' '))} -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}
complete -o filenames -F _portcullis portcullis
`;
}

function zshScript(commands: Commands): string {
  const summaries = Object.entries(commands).map(
    ([name, { summary }]) => `    ${quoted(`${name}:${summary.replaceAll(':', '\\:')}`)}\n`,
  );
  const cases = Object.entries(commands).map(([name, command]) => {
    const specs = flagsOf(command).flatMap(([flag, { short, value, help }]) => {
      const rest = `[${help.replaceAll(/[[\]:]/g, '\\$&')}]${value === undefined ? '' : `:${value}:_files`}`;
      return [`--${flag}${rest}`, ...(short === undefined ? [] : [`-${short}${rest}`])].map(quoted);
    });
    return `    ${name}) _arguments ${specs.join(' ')} '*:file:_files' ;;\n`;
  });
  return `#compdef portcullis
# Completion of portcullis in zsh. Put it into a folder of $fpath as _portcullis.
_portcullis() {
  local -a commands
  commands=(
${summaries.join('')}  )
  if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then
    _describe command commands
    return
  fi
  local command=run
  if [[ $words[2] != -* ]]; then
    command=$words[2]
    shift words
    (( CURRENT-- ))
  fi
  case $command in
${cases.join('')}  esac
}
_portcullis "$@"
`;
}

function fishScript(commands: Commands): string {
  const names = Object.keys(commands).join(' ');
  const lines = Object.entries(commands).flatMap(([name, command]) => [
    `complete -c portcullis -n __fish_use_subcommand -a ${name} -d ${quoted(command.summary)}`,
    ...flagsOf(command).map(([flag, { type, short, help }]) => {
      const where =
        name === 'run'
          ? `not __fish_seen_subcommand_from ${names}; or __fish_seen_subcommand_from run`
          : `__fish_seen_subcommand_from ${name}`;
      const letter = short === undefined ? '' : ` -s ${short}`;
      const value = type === 'string' ? ' -r' : '';
      return `complete -c portcullis -n ${quoted(where)} -l ${flag}${letter}${value} -d ${quoted(help)}`;
    }),
  ]);
  return `# Completion of portcullis in fish. Load it with: portcullis completion fish | source
${lines.join('\n')}
`;
}
