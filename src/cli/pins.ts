import { changesBetween, PinFolder, type ChangedItem } from '../pins/index.ts';
import { UsageError, type Command, type Flags, type Terminal } from './command.ts';
import { configurationFlags, givenConfiguration, load, showProblems } from './configuration.ts';
import { exitCode } from './exitCode.ts';
import { printable } from './printable.ts';

/** First argument of the command → the work on each changed item, and the word for it. */
const actions: Readonly<
  Record<
    string,
    { readonly word: string; readonly work?: (folder: PinFolder, item: ChangedItem) => Promise<void> }
  >
> = {
  list: { word: 'changed' },
  approve: { word: 'approved', work: (folder, item) => folder.approve(item) },
  reject: { word: 'rejected', work: (folder, item) => folder.reject(item) },
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

/** The folder of the pins: the flag, or what the configuration says. */
function folderOf(flags: Flags, terminal: Terminal): string | undefined {
  const { folder } = flags;
  if (typeof folder === 'string') return folder;
  const result = load(givenConfiguration(flags, []), terminal);
  if (!result.ok) {
    showProblems(result.problems, terminal);
    return undefined;
  }
  const { pins: configured } = result.model.process.fixed;
  if (configured === undefined) throw new UsageError('the configuration has no config.mcp.pins');
  return configured;
}

export const pins: Command = {
  summary: 'show changed definitions of MCP tools and prompts, and approve or reject them',
  usage: '[list | approve [NAME] | reject [NAME]]',
  flags: {
    ...configurationFlags,
    folder: {
      type: 'string',
      value: 'FOLDER',
      help: 'folder of the pins, instead of config.mcp.pins',
      once: true,
    },
    target: { type: 'string', value: 'NAME', help: 'only items of this target', once: true },
    all: { type: 'boolean', help: 'approve or reject every changed item' },
  },
  positionals: 2,
  async run(flags, [first = 'list', name], terminal) {
    const action = Object.hasOwn(actions, first) ? actions[first] : undefined;
    if (action === undefined)
      throw new UsageError(
        `unknown action ${JSON.stringify(first)}; expected ${Object.keys(actions).join(', ')}`,
      );
    if (action.work !== undefined && (name === undefined) !== (flags['all'] === true))
      throw new UsageError(`${first} needs either the name of an item or --all`);
    const path = folderOf(flags, terminal);
    if (path === undefined) return exitCode.invalid;
    const folder = new PinFolder(path);
    let count = 0;
    for await (const item of folder.changed()) {
      if (flags['target'] !== undefined && item.target !== flags['target']) continue;
      if (name !== undefined && nameOf(item) !== name) continue;
      count++;
      terminal.out(`${described(item)}\n`);
      await action.work?.(folder, item);
    }
    terminal.err(`${count === 1 ? '1 definition' : `${count} definitions`} ${action.word}\n`);
    return action.work !== undefined && count === 0 ? exitCode.failed : exitCode.ok;
  },
};
