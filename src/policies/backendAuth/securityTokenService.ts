import { createHash } from 'node:crypto';
import { messageOf } from '../../errorText.ts';
import type { HeaderLine } from '../../http/index.ts';
import type { PolicyTools } from '../policy.ts';
import { keysInXml, type IssuedKeys } from './awsAnswers.ts';
import { addressOf } from './serverAddress.ts';
import { authorization, type AwsKeys } from './sigV4.ts';
import { TokenServer, type ServerAddress } from './tokenServer.ts';

const version = '2011-06-15';

/** The service of AWS that gives out keys of roles (STS), in one region. */
export class SecurityTokenService {
  private readonly server: TokenServer;
  private readonly path: string;
  private readonly region: string;
  private readonly now: () => number;

  /** @throws Error where AWS_ENDPOINT_URL_STS is no https URL */
  constructor(region: string, tools: PolicyTools) {
    const { path, ...address } = stsAddress(region);
    this.server = new TokenServer(address, tools);
    this.path = path;
    this.region = region;
    this.now = tools.now;
  }

  /**
   * @param parameters of the action, with its name
   * @param keys that sign the request; an identity token in the parameters takes their place
   * @throws GatewayError backend_auth_failed
   */
  async ask(parameters: readonly (readonly [string, string])[], keys?: AwsKeys): Promise<IssuedKeys> {
    const { server, path: target } = this;
    const form = new URLSearchParams([
      ['Version', version],
      ...parameters.map(([name, value]) => [name, value]),
    ]);
    const body = Buffer.from(form.toString());
    const headers: HeaderLine[] = [['content-type', 'application/x-www-form-urlencoded; charset=utf-8']];
    if (keys !== undefined) headers.push(...this.signature(headers, body, keys));
    const answer = await server.ask({ method: 'POST', target, headers, body, grantOf: 'gateway' });
    try {
      return keysInXml(answer.body.toString('utf8'));
    } catch (error) {
      throw server.failed(target, messageOf(error), error);
    }
  }

  private signature(headers: readonly HeaderLine[], body: Buffer, keys: AwsKeys): readonly HeaderLine[] {
    const { path: target, region } = this;
    const time = new Date(this.now()).toISOString().replaceAll(/[-:]|\.\d+/g, '');
    const { sessionToken } = keys;
    const added: readonly HeaderLine[] = [
      ['x-amz-date', time],
      ...(sessionToken === undefined ? [] : [['x-amz-security-token', sessionToken] as const]),
    ];
    const host = this.server.urlOf('').replace(/^https?:\/\//, '');
    const parts = {
      method: 'POST',
      target,
      headers: [['host', host], ...headers, ...added] as const,
      payloadHash: createHash('sha256').update(body).digest('hex'),
      time,
    };
    return [...added, ['authorization', authorization(parts, keys, { region, service: 'sts' })]];
  }
}

function stsAddress(region: string): ServerAddress & { readonly path: string } {
  const own = process.env['AWS_ENDPOINT_URL_STS'] ?? '';
  const suffix = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
  try {
    return addressOf(own === '' ? `https://sts.${region}.${suffix}/` : own);
  } catch (error) {
    throw new Error(`AWS_ENDPOINT_URL_STS: ${messageOf(error)}`, { cause: error });
  }
}
