/** A server-sent event. */
export interface ServerEvent {
  readonly event: string;
  readonly data: string;
}

/** Reads server-sent events from a text that arrives in parts. Comments, ids and events without data are left out. */
export class EventReader {
  private rest = '';
  private readonly take: (event: ServerEvent) => void;

  constructor(take: (event: ServerEvent) => void) {
    this.take = take;
  }

  /** Takes the next part of the text. */
  read(part: string): void {
    // A carriage return at the end may be half of a line end.
    const text = (this.rest + part).replaceAll('\r\n', '\n');
    const blocks = text.split('\n\n');
    this.rest = blocks.pop() ?? '';
    for (const block of blocks) this.takeBlock(block);
  }

  private takeBlock(block: string): void {
    const lines = block.split('\n');
    const valuesOf = (field: string): string[] =>
      lines
        .filter((line) => line.startsWith(`${field}:`))
        .map((line) => line.slice(field.length + 1).replace(/^ /, ''));
    const data = valuesOf('data');
    if (data.length === 0 || data.join('') === '') return;
    this.take({ event: valuesOf('event').at(-1) ?? 'message', data: data.join('\n') });
  }
}
