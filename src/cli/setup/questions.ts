import { createInterface } from 'node:readline';

/** Asks a person at a terminal. */
export class Questions {
  readonly #input = createInterface({
    input: process.stdin,
    output: process.stderr,
    terminal: process.stdin.isTTY,
  });
  readonly #lines = this.#input[Symbol.asyncIterator]();

  constructor() {
    // Ctrl-C ends the questions, as the end of the input does.
    this.#input.on('SIGINT', () => this.#input.close());
  }

  /**
   * @returns the answer, or the default for an empty one
   * @throws Error where the input has ended
   */
  async ask(question: string, otherwise = ''): Promise<string> {
    this.#input.setPrompt(otherwise === '' ? `${question}: ` : `${question} [${otherwise}]: `);
    this.#input.prompt();
    const line = await this.#lines.next();
    if (line.done === true) throw new Error('the input ended before the last question');
    return line.value.trim() === '' ? otherwise : line.value.trim();
  }

  close(): void {
    this.#input.close();
  }
}
