/** The gateway could not start; `problems` are ready to print, a line each. */
export class StartError extends Error {
  override readonly name = 'StartError';
  readonly kind: 'configuration' | 'system';
  readonly problems: readonly string[];

  constructor(kind: 'configuration' | 'system', problems: readonly string[], cause?: unknown) {
    super(problems.join('\n'), { cause });
    this.kind = kind;
    this.problems = problems;
  }
}
