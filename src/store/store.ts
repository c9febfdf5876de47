/** A program that a store runs at once, as no other command comes between its steps. */
export interface Script {
  /** The part of the gateway that runs it, for metrics. */
  readonly use: 'rateLimits' | 'budgets' | 'pins' | 'events' | 'sessions';
  /** The text in Lua 5.1; it reaches no other keys than `KEYS` (Redis, "Scripting with Lua"). */
  readonly lua: string;
  /** SHA-1 of `lua` in hexadecimal digits: the store knows the script by it. */
  readonly digest: string;
}

/** The answer of a script. */
export type Reply = string | number | null | readonly Reply[];

/** A place for the state that the replicas of a gateway share. */
export interface Store {
  /** The number of the connection in use, which grows with every new connection; 0 while there is none. */
  readonly connection: number;
  /** The number of connections so far that have heard messages. While there is none, messages are lost. */
  readonly subscriptions: number;
  /**
   * Runs a script, in one round trip. Never waits longer than the time-out for commands. The scripts of one connection
   * run in the order of the calls, unless the server drops its scripts meanwhile.
   * @param keys without the prefix of the store
   * @throws StoreError
   */
  run(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<Reply>;
  /**
   * Hears what scripts publish on a channel, while the store is connected: messages in between are lost.
   * @param channel without the prefix of the store
   */
  subscribe(channel: string, listener: (text: string) => void): void;
  /** Resolves when the first attempt to connect has ended, either way. Never rejects. */
  tried(): Promise<void>;
  close(): void;
}

/** The store cannot be asked, or refused the script. The message says why and holds no secret. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
}
