import { createHash } from 'node:crypto';
import type { RequestSigner } from '../../http/index.ts';
import type { PolicyTools } from '../policy.ts';
import { environmentKeys, explicitKeys } from './awsKeys.ts';
import { regionOfProfile, sharedFiles } from './awsProfile.ts';
import { roleKeys } from './awsRole.ts';
import type { AwsSettings } from './awsSchema.ts';
import { SecurityTokenService } from './securityTokenService.ts';
import type { Sender } from './sender.ts';
import { signatureFields, signHead, signsBody, type AwsKeys, type SigningScope } from './sigV4.ts';

/** Signs requests for a service of AWS. @throws Error where the environment has no region, or cannot be used */
export function awsSender(settings: AwsSettings, tools: PolicyTools): Sender {
  const region = settings.region ?? environmentRegion();
  const scope: SigningScope = { region, service: settings.serviceName };
  const sts = (): SecurityTokenService => new SecurityTokenService(region, tools);
  const { secrets, assumeRole } = settings;
  const source = secrets === undefined ? environmentKeys(sts, tools) : explicitKeys(secrets, tools);
  const keysFor = assumeRole === undefined ? () => source.keys() : roleKeys(assumeRole, source, sts(), tools);
  const { now } = tools;
  return {
    ...(source.waits || assumeRole !== undefined ? { waits: true as const } : {}),
    send(exchange) {
      for (const name of signatureFields) exchange.requestHeaders.remove(name);
      const use = (keys: AwsKeys): void => {
        exchange.signer = new AwsSigner(keys, scope, now);
      };
      const keys = keysFor(exchange);
      return keys instanceof Promise ? keys.then(use) : use(keys);
    },
    problem: () => source.problem(),
    close: () => source.close(),
  };
}

/** @throws Error where there is none */
function environmentRegion(): string {
  const { AWS_REGION = '', AWS_DEFAULT_REGION = '' } = process.env;
  const region = AWS_REGION || AWS_DEFAULT_REGION || regionOfProfile(sharedFiles());
  if (region === undefined || region === '')
    throw new Error('aws needs a region: set `region`, or AWS_REGION in the environment');
  return region;
}

/** Signs one request. */
class AwsSigner implements RequestSigner {
  readonly needsBody: boolean;
  private readonly keys: AwsKeys;
  private readonly scope: SigningScope;
  private readonly now: () => number;

  constructor(keys: AwsKeys, scope: SigningScope, now: () => number) {
    this.needsBody = signsBody(scope);
    this.keys = keys;
    this.scope = scope;
    this.now = now;
  }

  get digest(): string {
    const { accessKeyId, sessionToken = '' } = this.keys;
    return createHash('sha256').update(`${accessKeyId} ${sessionToken}`).digest('base64');
  }

  sign(head: string, body: Buffer): string {
    return signHead(head, body, this.keys, this.scope, this.now());
  }
}
