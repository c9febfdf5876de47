import { messageOf } from '../errorText.ts';
import { UsageError, type Command, type Flags } from './command.ts';
import { exitCode } from './exitCode.ts';
import type { Verification } from '../audit/index.ts';

/** Problems that are listed; the number of the others follows. */
const maxListed = 20;
const actions = ['verify'] as const;

const when = (ms: number): string => (ms === 0 ? 'unknown time' : new Date(ms).toISOString());

/** The report on a stream, a line each. */
function reportOf(found: Verification): string[] {
  const { epochs, gaps, problems, copies, unchecked, lines } = found;
  const { unfinished, pieces, checkpoints, withoutCheckpoint } = found;
  const report: string[] = [];
  for (const { writer, epoch, first, last, startTime, endTime, stopped } of epochs)
    report.push(
      `${writer} epoch ${epoch}: lines ${first} to ${last}, ${when(startTime)} to ${when(endTime)}${stopped ? ', closed' : ''}`,
    );
  for (const { writer, epoch, seq, time, kind, lost } of gaps) {
    const place = `${writer} epoch ${epoch}`;
    if (kind === 'lost') report.push(`gap: ${place} says that ${lost} lines are lost`);
    else if (kind === 'begin')
      report.push(`gap: ${place} begins with line ${seq}, and not in the oldest file, ${when(time)}`);
    else if (kind === 'end')
      report.push(`gap: ${place} ended without its last line after line ${seq}, ${when(time)}`);
    else
      report.push(
        `open: ${place} still runs, or ended without its last line after line ${seq}, ${when(time)}`,
      );
  }
  for (const { at, message } of unchecked) report.push(`unchecked: ${at.file}:${at.line}: ${message}`);
  if (unfinished > 0) report.push(`unfinished: ${unfinished} operations have an intent and no outcome`);
  for (const { file, line } of pieces.slice(0, maxListed))
    report.push(`torn: ${file}:${line}: a piece of a line, as a crash or a full disk leaves it behind`);
  if (pieces.length > maxListed) report.push(`… and ${pieces.length - maxListed} more pieces`);
  for (const file of withoutCheckpoint) report.push(`no checkpoint found in ${file}`);
  for (const { at, message } of copies.slice(0, maxListed))
    report.push(`repeated: ${at.file}:${at.line}: ${message}`);
  if (copies.length > maxListed) report.push(`… and ${copies.length - maxListed} more copies`);
  for (const { kind, at, message } of problems.slice(0, maxListed))
    report.push(`${kind}: ${at === undefined ? '' : `${at.file}:${at.line}: `}${message}`);
  if (problems.length > maxListed) report.push(`… and ${problems.length - maxListed} more problems`);
  if (lines > 0 && problems.filter(({ kind }) => kind === 'altered').length === lines)
    report.push('Every line is altered. Is this the key of the stream?');
  const known = gaps.filter(({ kind }) => kind !== 'running').length;
  report.push(
    `${problems.length === 0 ? 'intact' : 'not intact'}: ${lines} lines, ${epochs.length} epochs, ` +
      `${problems.length} problems, ${known} known gaps, ${checkpoints} checkpoints` +
      (copies.length === 0 ? '' : `, ${copies.length} copies`) +
      (pieces.length === 0 ? '' : `, ${pieces.length} pieces`),
  );
  return report;
}

/** Commas separate the files of a flag. */
const filesOf = (flags: Flags, name: string): string[] => {
  const value = flags[name];
  return typeof value === 'string' ? value.split(',').filter((file) => file !== '') : [];
};

export const audit: Command = {
  summary: 'verify the chain of an audit stream',
  usage: 'verify FILE… --key FILE [--checkpoints FILE]',
  flags: {
    key: { type: 'string', value: 'FILE', help: 'key of the chain (config.audit.chain.key)', once: true },
    checkpoints: {
      type: 'string',
      value: 'A,B',
      help: 'files of checkpoints, or logs that have them',
      once: true,
    },
    partial: { type: 'boolean', help: 'older files of the stream were removed' },
    strict: { type: 'boolean', help: 'exit code 1 also for known gaps, copies and pieces of lines' },
  },
  positionals: Number.POSITIVE_INFINITY,
  async run(flags, [action = '', ...files], terminal) {
    if (!actions.some((one) => one === action))
      throw new UsageError(`unknown action ${JSON.stringify(action)}; expected ${actions.join(', ')}`);
    const { key: keyFile } = flags;
    if (files.length === 0) throw new UsageError('verify needs the files of the stream');
    if (typeof keyFile !== 'string') throw new UsageError('verify needs --key FILE');
    const { verifyFiles } = await import('../audit/index.ts');
    const { readRegularFile } = await import('../files/index.ts');
    try {
      const found = await verifyFiles({
        files,
        key: readRegularFile(keyFile),
        checkpoints: filesOf(flags, 'checkpoints'),
        partial: flags['partial'] === true,
      });
      for (const line of reportOf(found)) terminal.out(`${line}\n`);
      const isExplained =
        found.gaps.some(({ kind }) => kind !== 'running') ||
        found.copies.length > 0 ||
        found.pieces.length > 0;
      const isIntact = found.problems.length === 0 && !(flags['strict'] === true && isExplained);
      return isIntact ? exitCode.ok : exitCode.invalid;
    } catch (error) {
      terminal.err(`portcullis: the audit stream cannot be read: ${messageOf(error)}\n`);
      return exitCode.failed;
    }
  },
};
