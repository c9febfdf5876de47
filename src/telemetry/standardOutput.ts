/** A writer to standard output. A slow reader may take only a part of a line. */
export interface LineWriter {
  /** Ends the line of which a part was written. Throws where standard output does not take the end. */
  endLine(): void;
}

const writers = new Set<LineWriter>();

/**
 * The writers of this process to standard output: the access log and the audit stream. Before a writer begins a line, it
 * ends those of the others, so that no line stands within another one.
 */
export const standardOutput = {
  join(writer: LineWriter): void {
    writers.add(writer);
  },

  leave(writer: LineWriter): void {
    writers.delete(writer);
  },

  /** Throws where standard output does not take the end of a line; the writer must not begin its line then. */
  endOtherLines(writer: LineWriter): void {
    for (const other of writers) if (other !== writer) other.endLine();
  },
};
