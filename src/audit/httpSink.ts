import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { messageOf } from '../errorText.ts';
import { readRegularText } from '../files/index.ts';
import type { AuditSink, TextSource } from '../model/index.ts';
import { rememberSecrets } from '../telemetry/index.ts';
import { SinkError, type AuditSinkPort } from './auditSink.ts';

type Settings = Extract<AuditSink, { kind: 'http' }>;

/** Posts batches of lines to a collector. A batch counts as stored when the collector answers with 2xx. */
export class HttpSink implements AuditSinkPort {
  readonly gatherMs = 500;
  readonly maxBatch = 1_048_576;
  private readonly settings: Settings;
  private readonly agent: HttpAgent;

  constructor(settings: Settings) {
    this.settings = settings;
    const options = { keepAlive: true, maxSockets: 1 };
    this.agent = settings.url.startsWith('https:') ? new HttpsAgent(options) : new HttpAgent(options);
  }

  async write(bytes: Buffer): Promise<void> {
    try {
      await this.post(bytes);
    } catch (error) {
      throw new SinkError(`${new URL(this.settings.url).host}: ${messageOf(error)}`, 0, error);
    }
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
          else reject(new Error(`the collector answered ${statusCode}`));
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

/** The token is read for each batch, so a new one in the file needs no restart. */
function tokenOf(token: TextSource): string {
  const text = (token.kind === 'inline' ? token.text : readRegularText(token.file)).trim();
  rememberSecrets([text]);
  return text;
}
