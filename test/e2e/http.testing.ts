import { request, type Agent, type ClientRequest, type IncomingHttpHeaders } from 'node:http';
import { request as requestHttps, type RequestOptions } from 'node:https';
import { noteTokens } from './sentSecrets.testing.ts';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Question {
  readonly method?: string;
  /** `host` may be any, whatever the URL says. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The agent whose connections are used; without it, the request has its own connection. */
  readonly agent?: Agent;
}

/** Sends a request; unlike fetch it sends any Host. */
export const ask = (
  url: string,
  { method = 'GET', headers = {}, body, agent }: Question = {},
): Promise<Answer> => answerTo(request(url, { method, headers, agent: agent ?? false }), body);

/**
 * Sends a GET under TLS for a host that 127.0.0.1 stands for, on a connection of its own unless the options say
 * otherwise.
 */
export const askSecurely = (port: number, host: string, options: RequestOptions): Promise<Answer> =>
  answerTo(
    requestHttps({
      host: '127.0.0.1',
      port,
      servername: host,
      headers: { host },
      agent: false,
      ...options,
    }),
  );

const answerTo = (sent: ClientRequest, body?: string): Promise<Answer> =>
  new Promise((resolve, reject) => {
    sent.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('error', reject).on('end', () => {
        noteTokens(text);
        if (response.complete)
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text });
        else reject(new Error('the response was cut off'));
      });
    });
    sent.on('error', reject).end(body);
  });
