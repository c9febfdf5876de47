/** A piece of a guide that stands between fences. */
export interface Fence {
  /** `sh`, `text`, … */
  readonly language: string;
  /** What follows the language: under what circumstances it is for. */
  readonly label: string;
  readonly text: string;
  readonly line: number;
}

/** All fences of a page of Markdown, in their order. */
export function fencesOf(page: string): readonly Fence[] {
  return Array.from(page.matchAll(/^```(\w+) *(.*)\n([\s\S]*?)^```$/gm), (match) => {
    const [, language = '', label = '', text = ''] = match;
    return { language, label, text, line: page.slice(0, match.index).split('\n').length };
  });
}

export interface Step {
  readonly fence: Fence;
  /** What the page says that it prints, where it does. */
  readonly expected: string | undefined;
}

/** The commands of a page for whoever chooses these labels, each with the output that stands right after it. */
export function stepsOf(page: string, labels: ReadonlySet<string>): readonly Step[] {
  const fences = fencesOf(page);
  return fences.flatMap((fence, index) => {
    if (fence.language !== 'sh' || (fence.label !== '' && !labels.has(fence.label))) return [];
    const next = fences[index + 1];
    return [{ fence, expected: next?.language === 'text' ? next.text : undefined }];
  });
}

/** An answer as `curl -i` prints it. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The last answer in what a command has printed; undefined where there is none. */
export function answerIn(output: string): Answer | undefined {
  const at = output.lastIndexOf('HTTP/1.1 ');
  if (at < 0) return undefined;
  const [head = '', ...rest] = output.slice(at).replaceAll('\r', '').split('\n\n');
  const [line = '', ...fields] = head.trimEnd().split('\n');
  return {
    status: Number(line.split(' ')[1]),
    headers: Object.fromEntries(
      fields.map((field) => {
        const [name = '', ...value] = field.split(':');
        return [name.toLowerCase(), value.join(':').trim()];
      }),
    ),
    body: rest.join('\n\n'),
  };
}
