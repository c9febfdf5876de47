import type { WriteStream } from 'node:tty';

/** Where the demo says what it does. Colours only where a terminal shows them. */
export interface Printer {
  /** A part that came up, and where. */
  part(name: string, text: string): void;
  step(number: number, title: string): void;
  /** A command to paste, four spaces in. */
  command(text: string): void;
  /** An answer, as it came. */
  answer(text: string): void;
  passed(text: string): void;
  problem(text: string): void;
  line(text?: string): void;
}

export function printer(out: NodeJS.WriteStream | WriteStream): Printer {
  const isColoured = out.isTTY && !process.env['NO_COLOR'];
  const paint =
    (code: number) =>
    (text: string): string =>
      isColoured ? `\x1b[${code}m${text}\x1b[0m` : text;
  const [bold, dim, red, green, cyan] = [paint(1), paint(2), paint(31), paint(32), paint(36)];
  const write = (text: string): void => void out.write(`${text}\n`);
  const indent = (text: string, by: string, style: (line: string) => string): void =>
    text.split('\n').forEach((line) => write(style(`${by}${line}`)));
  return {
    part: (name, text) => write(`  ${name.padEnd(22)} ${text}`),
    step: (number, title) => write(`\n${bold(`${number}. ${title}`)}\n`),
    command: (text) => {
      indent(text, '    ', cyan);
      write('');
    },
    answer: (text) => indent(text, '  < ', dim),
    passed: (text) => write(`  ${green('ok')} ${text}`),
    problem: (text) => write(`  ${red('not as expected:')} ${text}`),
    line: (text = '') => write(text),
  };
}
