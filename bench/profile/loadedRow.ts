/** Portcullis with the load of one row of the benchmark. */
export interface LoadedRow {
  readonly title: string;
  readonly pid: number;
  /**
   * Loads it for so many seconds. @returns microseconds of its CPU for each request
   * @param onLoad runs when the load begins
   */
  load(seconds: number, onLoad?: () => void): Promise<number>;
  /** Ends the gateway, which writes its own profile then. */
  stop(): Promise<void>;
  /** Ends everything else. */
  close(): Promise<void>;
}

export type StartRow<Row extends LoadedRow = LoadedRow> = (
  name: string,
  directory: string,
  cores: readonly [number, number],
  nodeOptions: readonly string[],
) => Promise<Row>;
