/** What a port knows of a connection of any kind. */
export interface OpenConnection {
  /** One look of the coarse clock. */
  sweep(now: number): void;
  /** Asks for the end, after what is under way. */
  drain(): void;
  destroy(): void;
}
