import { userInfo } from 'node:os';
import { Audit } from '../audit/index.ts';
import { messageOf } from '../errorText.ts';
import type { AuditSettings } from '../model/index.ts';
import { changesBetween, PinFolder, StoredPins, type ChangedItem, type PinStore } from '../pins/index.ts';
import { RedisStore, StoreError, type Store } from '../store/index.ts';
import { createLogger, createMetrics, type RootLogger } from '../telemetry/index.ts';
import { UsageError, type Flags, type Terminal } from './command.ts';
import { load, showProblems } from './configuration.ts';
import { exitCode } from './exitCode.ts';
import { givenConfiguration } from './givenConfiguration.ts';
import { printable } from './printable.ts';

/** First argument of the command → the work on each changed item, and the word for it. */
const actions: Readonly<
  Record<
    string,
    { readonly word: string; readonly work?: (pins: PinStore, item: ChangedItem) => Promise<void> }
  >
> = {
  list: { word: 'changed' },
  approve: { word: 'approved', work: (stored, item) => stored.approve(item) },
  reject: { word: 'rejected', work: (stored, item) => stored.reject(item) },
};

/** The argument that names an item; instructions have no name of their own. */
const nameOf = ({ kind, name }: ChangedItem): string => (kind === 'instructions' ? kind : name);

/** A changed item with its differences. */
function described(item: ChangedItem): string {
  const { backend, target, kind, seenAt, pinned, found } = item;
  const title = kind === 'instructions' ? kind : `${kind} ${item.name}`;
  const lines = changesBetween(pinned, found).flatMap(({ path, before, after }) => [
    `  ${path}`,
    ...(before === undefined ? [] : [`  - ${before}`]),
    ...(after === undefined ? [] : [`  + ${after}`]),
  ]);
  return [`target ${target}: ${title} (${backend}, seen ${seenAt})`, ...lines].map(printable).join('\n');
}

interface OpenPins {
  /** The audit stream of the configuration. */
  readonly audit?: AuditSettings;
  readonly pins: PinStore;
  readonly store?: Store;
  readonly log?: RootLogger;
}

/** The place of the pins: the flag, or what the configuration says. Undefined: the configuration is invalid. */
function open(flags: Flags, terminal: Terminal): OpenPins | undefined {
  const { folder } = flags;
  if (typeof folder === 'string') return { pins: new PinFolder(folder) };
  const result = load(givenConfiguration(flags, []), terminal);
  if (!result.ok) {
    showProblems(result.problems, terminal);
    return undefined;
  }
  const { pins: configured, store: settings, audit } = result.model.process.fixed;
  const recorded = audit && { audit };
  if (configured !== undefined) return { pins: new PinFolder(configured), ...recorded };
  if (settings === undefined)
    throw new UsageError('the configuration has neither config.mcp.pins nor config.store');
  const log = createLogger({ level: 'error', format: 'text' });
  const store = new RedisStore({ settings, log, metrics: createMetrics({ process: false }) });
  return { pins: new StoredPins(store), store, log, ...recorded };
}

/** Records approvals in the audit stream of the configuration. */
interface PinRecord {
  take(operation: string, item: ChangedItem): void;
  close(): Promise<void>;
}

/** @throws UsageError where the configuration has a stream that cannot be opened */
function recordOf(settings: AuditSettings | undefined, terminal: Terminal): PinRecord | undefined {
  if (settings === undefined) return undefined;
  if (settings.sink.kind === 'stdout') {
    terminal.err(
      'the audit stream of the gateway is its standard output: it gets no line about this change\n',
    );
    return undefined;
  }
  const log = createLogger({ level: 'error', format: 'text' });
  const metrics = createMetrics({ process: false });
  let audit: Audit;
  try {
    audit = new Audit({ settings: { ...settings, required: false }, writer: 'cli', log, metrics });
  } catch (error) {
    log.close();
    throw new UsageError(messageOf(error));
  }
  const user = userInfo().username;
  return {
    take: (operation, { kind, name, target }) =>
      audit.record(
        { time: Date.now(), operation, caller: { user }, details: { kind, name } },
        { outcome: 'ok', target },
      ),
    close: async () => {
      await audit.close();
      log.close();
    },
  };
}

/** Lists, approves or rejects changed definitions, as the arguments of `portcullis pins` say. @returns the exit code */
export async function decidePins(
  flags: Flags,
  [first = 'list', name]: readonly string[],
  terminal: Terminal,
): Promise<number> {
  const action = Object.hasOwn(actions, first) ? actions[first] : undefined;
  if (action === undefined)
    throw new UsageError(
      `unknown action ${JSON.stringify(first)}; expected ${Object.keys(actions).join(', ')}`,
    );
  if (action.work !== undefined && (name === undefined) !== (flags['all'] === true))
    throw new UsageError(`${first} needs either the name of an item or --all`);
  const opened = open(flags, terminal);
  if (opened === undefined) return exitCode.invalid;
  const { pins: stored, store, log } = opened;
  let count = 0;
  let record: PinRecord | undefined;
  try {
    if (action.work !== undefined) record = recordOf(opened.audit, terminal);
    await store?.tried();
    for await (const item of stored.changed()) {
      if (flags['target'] !== undefined && item.target !== flags['target']) continue;
      if (name !== undefined && nameOf(item) !== name) continue;
      count++;
      terminal.out(`${described(item)}\n`);
      await action.work?.(stored, item);
      record?.take(`pin.${first}`, item);
    }
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    terminal.err(`the pins cannot be read or written: ${messageOf(error)}\n`);
    return exitCode.failed;
  } finally {
    await record?.close();
    store?.close();
    log?.close();
  }
  terminal.err(`${count === 1 ? '1 definition' : `${count} definitions`} ${action.word}\n`);
  return action.work !== undefined && count === 0 ? exitCode.failed : exitCode.ok;
}
