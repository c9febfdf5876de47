import { messageOf } from '../../errorText.ts';
import { FileWatch, readRegularText } from '../../files/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { Identity } from './certificate.ts';

export interface CertificateFileNames {
  readonly cert: string;
  readonly key: string;
  /** The authorities with which proxies verify it. */
  readonly ca: string;
}

/** A certificate that somebody else renews, such as cert-manager: read now, and whenever its files change. */
export class CertificateFiles {
  private readonly names: CertificateFileNames;
  private readonly onIdentity: (identity: Identity, trust: string) => void;
  private readonly log: Logger;
  private readonly watch: FileWatch;
  private readonly first: NodeJS.Immediate;

  constructor(
    names: CertificateFileNames,
    onIdentity: (identity: Identity, trust: string) => void,
    log: Logger,
  ) {
    this.names = names;
    this.onIdentity = onIdentity;
    this.log = log;
    this.watch = new FileWatch({ onChange: () => this.read() });
    // Followed before they are read, so that no change is missed.
    this.watch.follow([names.cert, names.key, names.ca]);
    // The caller that waits for it is not there yet.
    this.first = setImmediate(() => this.read());
  }

  close(): void {
    clearImmediate(this.first);
    this.watch.close();
  }

  private read(): void {
    try {
      const [cert, key, trust] = [this.names.cert, this.names.key, this.names.ca].map((file) =>
        readRegularText(file),
      ) as [string, string, string];
      this.onIdentity({ cert, key }, trust);
    } catch (error) {
      this.log.error('Certificate for proxies could not be read', {
        reason: messageOf(error),
      });
    }
  }
}
