import { messageOf } from '../errorText.ts';
import { fileMark, fileMarkLater, readRegularText, Settling } from '../files/index.ts';
import type { Pem } from '../model/index.ts';

/** The files among some PEM settings, and whether they are still what they were when they were last read. */
export class PemFiles {
  private readonly files: ReadonlyMap<string, Settling>;
  private looking = false;

  /** Notes how the files are now; read them after this, so that no change falls in between. */
  constructor(pems: readonly (Pem | undefined)[]) {
    const names = pems.flatMap((pem) => (pem !== undefined && 'file' in pem ? [pem.file] : []));
    this.files = new Map(names.map((file) => [file, new Settling(fileMark(file))]));
  }

  /** Did any of them change since the last look? Never rejects; says no while another look is under way. */
  async changed(): Promise<boolean> {
    if (this.files.size === 0 || this.looking) return false;
    this.looking = true;
    const due = await Promise.all(
      [...this.files].map(async ([file, settling]) => settling.due(await fileMarkLater(file))),
    );
    this.looking = false;
    return due.includes(true);
  }
}

/**
 * The text of a PEM setting.
 * @param field for the message, such as `tls.cert`
 * @throws Error naming field and file where it cannot be read
 */
export function pemText(pem: Pem, field: string): string {
  if ('inline' in pem) return pem.inline;
  try {
    return readRegularText(pem.file);
  } catch (error) {
    throw new Error(`${field}: ${pem.file}: ${messageOf(error)}`, {
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
