import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { messageOf } from '../errorText.ts';
import { readRegularText } from '../files/index.ts';
import type { AuditSink, TextSource } from '../model/index.ts';
import { rememberSecrets } from '../telemetry/index.ts';
import { SinkError, type AuditSinkPort } from './auditSink.ts';

type Settings = Extract<AuditSink, { kind: 'http' }>;

/** The least size that the sink remembers after a 413, so that its posts grow fast again after a brief fault. */
const leastPost = 8_192;

/** The collector answered 413. */
class TooLarge extends Error {}

/**
 * Posts batches of lines to a collector. A batch counts as stored when the collector answers with 2xx. After a 413, the
 * sink posts half of the lines at a time. After a batch without a 413, it tries twice as many again.
 */
export class HttpSink implements AuditSinkPort {
  readonly gatherMs = 500;
  readonly maxBatch = 1_048_576;
  private readonly settings: Settings;
  private readonly agent: HttpAgent;
  /** Bytes of one request; less than a batch if the collector has refused more. */
  private most: number;

  constructor(settings: Settings) {
    this.settings = settings;
    this.most = this.maxBatch;
    const options = { keepAlive: true, maxSockets: 1 };
    this.agent = settings.url.startsWith('https:') ? new HttpsAgent(options) : new HttpAgent(options);
  }

  async write(bytes: Buffer): Promise<void> {
    let stored = 0;
    let { most } = this;
    let isRefused = false;
    while (stored < bytes.length) {
      const lines = firstLines(bytes.subarray(stored), most);
      try {
        await this.post(lines);
        stored += lines.length;
      } catch (error) {
        const isTooLarge = error instanceof TooLarge;
        const isOneLine = lines.indexOf('\n') === lines.length - 1;
        if (!isTooLarge || isOneLine) {
          const host = new URL(this.settings.url).host;
          throw new SinkError(`${host}: ${messageOf(error)}`, stored, error, isTooLarge ? lines.length : 0);
        }
        most = Math.floor(lines.length / 2);
        this.most = Math.max(leastPost, most);
        isRefused = true;
      }
    }
    // A smaller batch does not show that the collector takes more.
    if (!isRefused && bytes.length > most) this.most = Math.min(this.maxBatch, most * 2);
  }

  writeNow(): void {
    // A collector cannot be reached without waiting.
  }

  tail(): string {
    return '';
  }

  close(): Promise<void> {
    this.agent.destroy();
    return Promise.resolve();
  }

  private post(bytes: Buffer): Promise<void> {
    const { url, token, timeoutMs } = this.settings;
    const headers = {
      'content-type': 'application/x-ndjson',
      'content-length': bytes.length,
      ...(token === undefined ? {} : { authorization: `Bearer ${tokenOf(token)}` }),
    };
    return new Promise((resolve, reject) => {
      const send = url.startsWith('https:') ? httpsRequest : httpRequest;
      const request = send(url, { method: 'POST', headers, agent: this.agent }, (response) => {
        const { statusCode = 0 } = response;
        response.resume();
        response.on('error', reject);
        response.on('end', () => {
          clearTimeout(timer);
          if (statusCode >= 200 && statusCode < 300) resolve();
          else {
            const message = `the collector answered ${statusCode}`;
            reject(statusCode === 413 ? new TooLarge(message) : new Error(message));
          }
        });
      });
      const late = new Error(`the collector did not answer within ${timeoutMs} ms`);
      const timer = setTimeout(() => request.destroy(late), timeoutMs);
      request.on('error', (error) => {
        clearTimeout(timer);
        reject(error);
      });
      request.on('close', () => {
        clearTimeout(timer);
        reject(new Error('the connection ended before the answer'));
      });
      request.end(bytes);
    });
  }
}

/** The first whole lines of at most `most` bytes, and at least one line. */
function firstLines(bytes: Buffer, most: number): Buffer {
  if (bytes.length <= most) return bytes;
  const end = most > 0 ? bytes.lastIndexOf('\n', most - 1) : -1;
  return bytes.subarray(0, 1 + (end === -1 ? bytes.indexOf('\n') : end));
}

/** The token is read for each batch, so a new one in the file needs no restart. */
function tokenOf(token: TextSource): string {
  const text = (token.kind === 'inline' ? token.text : readRegularText(token.file)).trim();
  rememberSecrets([text]);
  return text;
}
