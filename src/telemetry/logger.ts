import type { Fields, LogFormat, Logger, LogLevel, RootLogger } from './contract.ts';
import { safeFields, safeText } from './redact.ts';
import { Sink, type Destination } from './sink.ts';
import { escapeControls, textMessage, textValue } from './textLine.ts';
import { timestamp } from './timestamp.ts';

export interface LoggerOptions {
  readonly level: LogLevel;
  readonly format: LogFormat;
  /** stderr unless given. */
  readonly destination?: Destination;
}

type Line = Readonly<Record<string, string | number | boolean | null>>;
type MakeLine = (level: LogLevel, message: string, fields: Line) => string;

const rank: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 };

/** Makes the line that reports lost lines of the log. */
type LossLine = (lines: number) => string;

const lossMessage = 'log lines lost: the destination of the log did not take them';

const textLine: MakeLine = (level, message, fields) => {
  let line = `${timestamp(Date.now())} ${level.toUpperCase().padEnd(5)} ${textMessage(message)}`;
  for (const [name, value] of Object.entries(fields)) line += ` ${name}=${textValue(String(value))}`;
  return `${line}\n`;
};

const lossLines: Readonly<Record<LogFormat, LossLine>> = {
  text: (lines) => textLine('warn', lossMessage, { lines }),
  json: (lines) =>
    `${JSON.stringify({ level: 'warn', time: timestamp(Date.now()), message: lossMessage, lines })}\n`,
};

/** Names of the line itself, which a field may not take. */
const reserved = new Set(['level', 'time', 'message']);

const jsonLine: MakeLine = (level, message, fields) => {
  let line = `{"level":"${level}","time":"${timestamp(Date.now())}"`;
  // Names that become equal are one field: JSON leaves open which of two a reader takes.
  const renamed = Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [reserved.has(name) ? `${name}_` : name, value]),
  );
  for (const [name, value] of Object.entries(renamed))
    line += `,${JSON.stringify(name)}:${JSON.stringify(value)}`;
  return `${escapeControls(`${line},"message":${JSON.stringify(message)}}`)}\n`;
};

const makers: Readonly<Record<LogFormat, MakeLine>> = { text: textLine, json: jsonLine };

/** The level of a logger and all its children, so that a change reaches them all. */
interface Shared {
  level: LogLevel;
  readonly makeLine: MakeLine;
  readonly sink: Sink;
}

class FieldLogger implements Logger {
  protected readonly shared: Shared;
  readonly #bound: Line;

  constructor(shared: Shared, bound: Line) {
    this.shared = shared;
    this.#bound = bound;
  }

  debug(message: string, fields?: Fields): void {
    this.#log('debug', message, fields);
  }

  info(message: string, fields?: Fields): void {
    this.#log('info', message, fields);
  }

  warn(message: string, fields?: Fields): void {
    this.#log('warn', message, fields);
  }

  error(message: string, fields?: Fields): void {
    this.#log('error', message, fields);
  }

  child(fields: Fields): Logger {
    return new FieldLogger(this.shared, { ...this.#bound, ...safeFields(fields) });
  }

  #log(level: LogLevel, message: string, fields: Fields | undefined): void {
    if (rank[level] < rank[this.shared.level]) return;
    const line = fields === undefined ? this.#bound : { ...this.#bound, ...safeFields(fields) };
    const { makeLine, sink } = this.shared;
    sink.write(makeLine(level, safeText(message), line));
  }
}

class Root extends FieldLogger implements RootLogger {
  constructor(shared: Shared) {
    super(shared, {});
  }

  get level(): LogLevel {
    return this.shared.level;
  }

  setLevel(level: LogLevel): void {
    this.shared.level = level;
  }

  close(): void {
    this.shared.sink.close();
  }
}

/**
 * The log of the process: one line per event, written at once, complete even when the process ends abruptly.
 * If the destination refuses lines (a full disk), the log itself reports their number once it takes lines again.
 * Anything that looks like a credential is replaced before it is written.
 */
export const createLogger = (options: LoggerOptions): RootLogger => {
  const sink = new Sink(options.destination ?? 2, {
    flushAt: 0,
    flushMs: 0,
    lossLine: lossLines[options.format],
  });
  return new Root({ level: options.level, makeLine: makers[options.format], sink });
};
