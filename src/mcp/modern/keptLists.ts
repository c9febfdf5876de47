/** Lists that were turned into the modern era before: clients ask for the same long list again and again. */

interface Kept {
  readonly method: string;
  readonly isPrivate: boolean;
  /** The response behind its id, before and after. */
  readonly given: string;
  readonly made: string;
}

/** The lists in use at a time are few: those of a backend are alike for callers with the same rules. */
const maxKept = 16;
/** Characters of a list; longer ones are turned anew each time. */
const maxLength = 1_048_576;

/** The beginning of a response that the gateway has written itself, up to its result. */
const headOf = (idText: string): string => `{"jsonrpc":"2.0","id":${idText},"result":`;

export class KeptLists {
  /** The newest stands last. */
  private readonly all: Kept[] = [];

  /** @returns the response, if a response with this result was turned before */
  find(text: string, method: string, idText: string, isPrivate: boolean): string | undefined {
    const head = headOf(idText);
    if (!text.startsWith(head)) return undefined;
    // Equal strings are compared by blocks of memory, and endings (`endsWith`) by single characters.
    const rest = text.slice(head.length);
    const found = this.all.findLast(
      (one) => one.method === method && one.isPrivate === isPrivate && one.given === rest,
    );
    return found === undefined ? undefined : head + found.made;
  }

  /** Keeps a response with the one that it was turned into. */
  keep(given: string, made: string, method: string, idText: string, isPrivate: boolean): void {
    const head = headOf(idText);
    if (given.length > maxLength || !given.startsWith(head) || !made.startsWith(head)) return;
    if (this.all.length === maxKept) this.all.shift();
    this.all.push({ method, isPrivate, given: given.slice(head.length), made: made.slice(head.length) });
  }
}
