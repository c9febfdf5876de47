import { readFileSync, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Pem } from '../model/index.ts';

const maxFileBytes = 1_048_576;

/** The files among some PEM settings, and whether they are still what they were when they were last read. */
export class PemFiles {
  private readonly files: readonly string[];
  private seen: string;
  private looking = false;

  /** Notes how the files are now; read them after this, so that no change falls in between. */
  constructor(pems: readonly (Pem | undefined)[]) {
    this.files = pems.flatMap((pem) => (pem !== undefined && 'file' in pem ? [pem.file] : []));
    this.seen = this.files.map(markNow).join();
  }

  /** Did any of them change since the last look? Never rejects; says no while another look is under way. */
  async changed(): Promise<boolean> {
    if (this.files.length === 0 || this.looking) return false;
    this.looking = true;
    const marks = await Promise.all(this.files.map((file) => stat(file).then(mark, () => absent)));
    this.looking = false;
    const now = marks.join();
    if (now === this.seen) return false;
    this.seen = now;
    return true;
  }
}

/**
 * The text of a PEM setting.
 * @param field for the message, such as `tls.cert`
 * @throws Error naming field and file where it cannot be read or is over 1 MiB
 */
export function pemText(pem: Pem, field: string): string {
  if ('inline' in pem) return pem.inline;
  try {
    if (statSync(pem.file).size > maxFileBytes) throw new Error(`is over ${maxFileBytes} bytes`);
    return readFileSync(pem.file, 'utf8');
  } catch (error) {
    throw new Error(`${field}: ${pem.file}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

/** The same for certificates: text without one would silently mean "trust nobody" or "show nothing". */
export function pemCertificates(pem: Pem, field: string): string {
  const text = pemText(pem, field);
  if (!text.includes('-----BEGIN CERTIFICATE-----'))
    throw new Error(`${field}: ${'file' in pem ? pem.file : 'the text'} holds no certificate`);
  return text;
}

const absent = 'absent';

const mark = (stats: { ino: number; size: number; mtimeMs: number }): string =>
  `${stats.ino} ${stats.size} ${stats.mtimeMs}`;

function markNow(file: string): string {
  try {
    return mark(statSync(file));
  } catch {
    return absent;
  }
}
