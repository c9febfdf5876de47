/** A model was refused because a worker ended while it prepared it: by the model's doing, or by chance. */
export class WorkerEndedError extends Error {
  override readonly name = 'WorkerEndedError';
  /** Resolves (never rejects) when every worker serves again, or the end has come. */
  readonly whole: Promise<void>;

  constructor(whole: Promise<void>) {
    super('a worker has ended while it prepared this configuration');
    this.whole = whole;
  }
}
