import { asCurl, send, type Answer, type Variables } from './ask.ts';
import type { Printer } from './print.ts';
import { keepers, stepsOf, type Addresses, type Step } from './steps.ts';

const telling = ['www-authenticate', 'content-type', 'mcp-session-id'];
const longestBody = 600;
const longestValue = 40;

/** Does every step for real and prints it. Answers how many were not as expected; stops early on the signal. */
export async function takeWalk(addresses: Addresses, print: Printer, signal: AbortSignal): Promise<number> {
  const variables: Variables = new Map();
  let failures = 0;
  let number = 0;
  for (const step of stepsOf(addresses)) {
    if (signal.aborted) return failures;
    if (step.title) print.step(++number, step.title);
    else print.line();
    print.command(asShell(step));
    const wrong = await take(step, variables, print, signal);
    if (wrong === undefined) continue;
    print.problem(wrong);
    failures += 1;
  }
  print.line();
  if (failures === 0) print.passed('every answer was the expected one');
  else print.problem(`${failures} of the answers above`);
  return failures;
}

/** The step as a command for `sh`. */
export function asShell({ ask, keep }: Step): string {
  if (!keep) return asCurl(ask, '-si');
  const { flags, filter } = keepers[keep.from];
  return `${keep.name}=$(${asCurl(ask, flags)} |\n  ${filter})`;
}

async function take(
  step: Step,
  variables: Variables,
  print: Printer,
  signal: AbortSignal,
): Promise<string | undefined> {
  let answer: Answer;
  try {
    answer = await send(step.ask, variables, signal);
  } catch (error) {
    return (error as Error).message;
  }
  show(answer, print);
  if (answer.status !== step.status) return `status ${answer.status}, expected ${step.status}`;
  if (step.keep) {
    const value = keepers[step.keep.from].read(answer);
    if (value === undefined) return `no ${step.keep.from} in the answer`;
    variables.set(step.keep.name, value);
  }
  return step.check?.(answer);
}

function show({ status, statusText, headers, body }: Answer, print: Printer): void {
  print.answer(`HTTP/1.1 ${status} ${statusText}`);
  for (const name of telling) {
    const value = headers[name]?.toString();
    if (value !== undefined) print.answer(`${name}: ${name === 'mcp-session-id' ? shorten(value) : value}`);
  }
  const text = body.trim().replace(/(?<="access_token":")[^"]+/, shorten);
  if (text) print.answer(text.length > longestBody ? `${text.slice(0, longestBody)}…` : text);
}

function shorten(value: string): string {
  return value.length > longestValue ? `${value.slice(0, longestValue)}…` : value;
}
