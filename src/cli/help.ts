import type { Command, Flag } from './command.ts';
import { exitCode } from './exitCode.ts';

/** The exit codes of all commands, with their meanings. */
export const exitCodes: readonly (readonly [code: number, meaning: string])[] = [
  [exitCode.ok, 'success: the gateway drained and stopped, or the configuration is valid'],
  [exitCode.invalid, 'the configuration is invalid'],
  [exitCode.usage, 'the command line is invalid'],
  [exitCode.failed, 'the command could not start or finish (a port in use, an issuer that does not answer)'],
];

const exitCodeLines = `exit codes:
${exitCodes.map(([code, meaning]) => `  ${String(code)}  ${meaning}\n`).join('')}`;

/** Text of `portcullis --help`. */
export function generalHelp(commands: Readonly<Record<string, Command>>): string {
  const rows = Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(12)}${summary}\n`);
  return `usage: portcullis [run] -f FILE
       portcullis COMMAND …

A gateway for MCP servers and HTTP apps. It authenticates callers, enforces rules, and explains refusals.

commands:
${rows.join('')}
flags:
${flagLines({ ...commands['run']?.flags, ...commonFlags })}
Run "portcullis COMMAND --help" for the flags of a command. docs/configuration.md describes the file.

${exitCodeLines}`;
}

/** Text of `portcullis COMMAND --help`. */
export function commandHelp(name: string, { usage, summary, flags }: Command): string {
  return `usage: portcullis ${name} ${usage}

${summary.charAt(0).toUpperCase()}${summary.slice(1)}.

flags:
${flagLines({ ...flags, ...commonFlags })}
${exitCodeLines}`;
}

export const commonFlags: Readonly<Record<string, Flag>> = {
  version: { type: 'boolean', short: 'V', help: 'print the version; as JSON with --json' },
  help: { type: 'boolean', short: 'h', help: 'print this help' },
};

function flagLines(flags: Readonly<Record<string, Flag>>): string {
  const rows = Object.entries(flags).map(([name, { short, value, help }]): [string, string] => {
    const letter = short === undefined ? '    ' : `-${short}, `;
    return [`  ${letter}--${name}${value === undefined ? '' : ` ${value}`}`, help];
  });
  const width = Math.max(...rows.map(([left]) => left.length)) + 2;
  return rows.map(([left, help]) => `${left.padEnd(width)}${help}\n`).join('');
}
