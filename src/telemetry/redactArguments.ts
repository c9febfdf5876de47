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
    if (headerFlag.test(before)) return arg.replace(/:.*/s, `: ${redacted}`);
    if (userFlag.test(before)) return arg.replace(/:.*/s, `:${redacted}`);
    return withoutValue(arg);
  });

function withoutValue(arg: string): string {
  const [, header] = /^([\w-]+):\s/.exec(arg) ?? [];
  if (header !== undefined && isSecret(header)) return `${header}: ${redacted}`;
  const equals = arg.indexOf('=');
  if (equals <= 0) return hideSecretForms(arg);
  const name = arg.slice(0, equals);
  if (isSecret(name)) return `${name}=${redacted}`;
  // `--env=API_KEY=…` and `--header=X-Api-Key: …`
  if (name.startsWith('-')) return `${name}=${redactArguments([name, arg.slice(equals + 1)])[1] ?? ''}`;
  return hideSecretForms(arg);
}
