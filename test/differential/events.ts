/** An event of an event stream that has data. */
export interface ServerEvent {
  readonly event: string;
  readonly data: string;
}

/** Reads an event stream to its end. */
export async function* eventsOf(response: Response): AsyncGenerator<ServerEvent, void, void> {
  let rest = '';
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + chunk).replaceAll('\r\n', '\n').split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const values = (name: string): string[] =>
        block
          .split('\n')
          .filter((line) => line.startsWith(`${name}:`))
          .map((line) => line.slice(name.length + 1).replace(/^ /, ''));
      const data = values('data');
      // An event without data only tells its id.
      if (data.some((line) => line !== ''))
        yield { event: values('event').at(-1) ?? 'message', data: data.join('\n') };
    }
  }
}
