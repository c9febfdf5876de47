import { isSecretName, redacted } from './redact.ts';
import { hideSecretForms } from './secretForms.ts';

/** A single expression for both would read the rest of a name once for each word in it. */
const plainName = /^[\w.-]*$/;
const secretWord = /token|secret|passw(?:or)?d|key|auth|credential/i;
/** Flags whose value is a header, in the manner of curl. */
const headerFlag = /^(?:-H|--headers?)$/;
/** Flags whose value may be `user:password`. */
const userFlag = /^(?:-u|--user)$/;

const isSecret = (name: string): boolean =>
  isSecretName(name) || (secretWord.test(name) && plainName.test(name));

/**
 * Arguments of a program, without the values of flags such as `--token`, of variables such as `API_KEY=…` and of headers.
 * Known secrets and everything that has the form of a secret are replaced, too.
 */
export const redactArguments = (args: readonly string[]): string[] =>
  args.map((arg, index) => {
    const before = args[index - 1] ?? '';
    if (before.startsWith('-') && isSecret(before) && !arg.startsWith('-')) return redacted;
    return asValueOf(before, arg) ?? withoutValue(arg);
  });

/** The value of a flag that has secrets by its form; undefined for other flags. */
function asValueOf(flag: string, value: string): string | undefined {
  if (headerFlag.test(flag)) return value.replace(/:.*/s, `: ${redacted}`);
  if (userFlag.test(flag)) return value.replace(/:.*/s, `:${redacted}`);
  return undefined;
}

function withoutValue(arg: string): string {
  let flags = '';
  let rest = arg;
  // `--env=API_KEY=…` and `--header=X-Api-Key: …`
  for (;;) {
    const [, header] = /^([\w-]+):\s/.exec(rest) ?? [];
    if (header !== undefined && isSecret(header)) return `${flags}${header}: ${redacted}`;
    const equals = rest.indexOf('=');
    if (equals <= 0) return flags + hideSecretForms(rest);
    const name = rest.slice(0, equals);
    if (isSecret(name)) return `${flags}${name}=${redacted}`;
    if (!name.startsWith('-')) return flags + hideSecretForms(rest);
    flags += `${name}=`;
    rest = rest.slice(equals + 1);
    const value = asValueOf(name, rest);
    if (value !== undefined) return flags + value;
  }
}
