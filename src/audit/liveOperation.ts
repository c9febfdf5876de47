import { operationLine, type AuditedEnd, type AuditedOperation } from './lines.ts';

/** Characters of a message that may wait for its line. A longer one is read at once, so that lines hold little memory. */
export const maxKept = 4_096;

/**
 * An operation that the stream follows. The stream asks for its beginning and its end when it makes the line: requests
 * push the code for that out of the processor's caches, so it runs for many lines together.
 */
export abstract class LiveOperation {
  /** The place in the list of open operations; -1 where it is in none. */
  place = -1;
  private begun: AuditedOperation | undefined;
  private ended: AuditedEnd | undefined;

  /** May it wait for its line, once it is over? Otherwise its line is made at once. */
  abstract readonly isLight: boolean;

  /** Reads the beginning. It is asked once. */
  protected abstract readBeginning(): AuditedOperation;
  /** Reads the end of an operation that `Audit.end` has ended without one. It is asked once. */
  protected abstract readEnd(): AuditedEnd;

  /** Reads the beginning now. @param uid joins the intent and the outcome of the operation */
  keepBeginning(uid?: string): AuditedOperation {
    this.begun = { ...(this.begun ?? this.readBeginning()), uid };
    return this.begun;
  }

  /** The operation has this end. */
  keepEnd(end: AuditedEnd): void {
    this.ended = end;
  }

  /** Makes the line of the operation, which is over. */
  line(): string {
    const begun = this.begun ?? this.readBeginning();
    return operationLine(
      begun,
      this.ended ?? this.readEnd(),
      begun.uid === undefined ? undefined : 'outcome',
    );
  }
}
