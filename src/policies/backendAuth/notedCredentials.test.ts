/** Credentials of callers differ, and policies say so: sessions with servers of MCP are apart by what they say. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test, type TestContext } from 'node:test';
import { makeKey } from '../../auth/token.testing.ts';
import type { SentCredential } from '../../http/index.ts';
import { FakeExchange } from '../exchange.testing.ts';
import type { HostAnswer, HostCall, Steps } from '../policy.ts';
import { prepared, toolsWith } from '../tools.testing.ts';
import { setEnvironment } from './cloud.testing.ts';
import type { BackendCredential } from './facts.ts';
import { backendAuth } from './index.ts';

const host = 'tokens.test:443';
const clientAuth = { clientId: 'gateway', clientSecret: 'secret-of-gateway' };
const agent = { expression: 'request.headers["x-agent"]' };
const role = (more: object): object => ({
  aws: { region: 'eu-central-1', assumeRole: { roleArn: 'arn:aws:iam::123456789012:role/r', ...more } },
});
const exchange = (more: object): object => ({ oauthTokenExchange: { host, ...more } });

/** Every way in which a credential can depend on the request, or one where a kind has none. */
const settings = {
  key: [{ key: 'key-of-gateway' }],
  passthrough: [{ passthrough: {} }],
  jwtSign: [{ jwtSign: { signingKey: pemOf(), alg: 'ES256', claims: { iss: 'gateway' } } }],
  oauthTokenExchange: [
    exchange({}),
    exchange({ subjectToken: { source: { header: { name: 'x-agent' } } } }),
    exchange({ subjectToken: { source: agent } }),
    exchange({
      subjectToken: { source: { header: { name: 'x-same' } } },
      actorToken: { source: { header: { name: 'x-agent' } } },
    }),
    exchange({
      subjectToken: { source: { header: { name: 'x-same' } } },
      additionalParams: { agent: agent.expression },
    }),
  ],
  crossAppAccess: [
    {
      crossAppAccess: {
        identityProvider: { host, clientAuth },
        resourceAuthorizationServer: { host, clientAuth },
        audience: 'https://tokens.test',
      },
    },
  ],
  clientCredentials: [{ clientCredentials: { host, clientAuth } }],
  gcp: [{ gcp: {} }],
  aws: [
    role({ sessionName: agent }),
    role({ tags: [{ key: 'agent', ...agent }] }),
    role({}),
    { aws: { region: 'eu-central-1' } },
  ],
  azure: [{ azure: { explicitConfig: { managedIdentity: {} } } }],
} as const satisfies Record<BackendCredential['kind'], readonly object[]>;

function pemOf(): string {
  return makeKey('P-256', 'k').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** Issues tokens that tell what was asked for. */
function answer({ target, body }: HostCall): Promise<HostAnswer> {
  const token = createHash('sha256')
    .update(`${target}\n${body?.toString() ?? ''}`)
    .digest('hex');
  const ends = new Date(Date.now() + 3_600_000).toISOString();
  const said =
    body?.includes('Action=AssumeRole') === true
      ? `<Credentials><AccessKeyId>ASIA${token}</AccessKeyId><SecretAccessKey>${token}</SecretAccessKey>` +
        `<SessionToken>${token}</SessionToken><Expiration>${ends}</Expiration></Credentials>`
      : JSON.stringify({ access_token: token, expires_in: 3_600 });
  return Promise.resolve({
    status: 200,
    headers: [['metadata-flavor', 'Google']],
    body: Buffer.from(said),
    trailers: [],
  });
}

function stepsFor(t: TestContext, written: object): Steps {
  setEnvironment(t, {
    AWS_ACCESS_KEY_ID: 'AKIAOWN',
    AWS_SECRET_ACCESS_KEY: 'secret-of-own',
    AWS_ENDPOINT_URL_STS: undefined,
    GOOGLE_APPLICATION_CREDENTIALS: undefined,
    GCE_METADATA_HOST: undefined,
    IDENTITY_ENDPOINT: undefined,
    AZURE_POD_IDENTITY_AUTHORITY_HOST: undefined,
  });
  const steps = prepared(backendAuth, written, { ...toolsWith([]), hosts: { use: () => ({ ask: answer }) } });
  t.after(() => steps.close?.());
  return steps;
}

/** @returns the credential in the request for the backend, and the notes about it */
async function sentFor(
  steps: Steps,
  user: string,
): Promise<{ readonly text: string; readonly notes: readonly SentCredential[] }> {
  const request = new FakeExchange({
    headers: [
      ['x-agent', `agent-of-${user}`],
      ['x-same', 'same'],
    ],
  });
  request.token = `token-of-${user}`;
  await steps.onRequest?.(request);
  const { requestHeaders, forwardTarget, signer, sentCredentials } = request;
  return {
    text: JSON.stringify([requestHeaders.lines, forwardTarget, signer?.digest]),
    notes: sentCredentials,
  };
}

const ofCaller = (notes: readonly SentCredential[]): string =>
  JSON.stringify(notes.filter((one) => one.of === 'caller'));

for (const [kind, all] of Object.entries(settings))
  test(`two callers have different notes of ${kind} where a backend tells them apart, and equal ones elsewhere`, async (t) => {
    for (const written of all) {
      const steps = stepsFor(t, written);
      const [ada, again, bob] = [
        await sentFor(steps, 'ada'),
        await sentFor(steps, 'ada'),
        await sentFor(steps, 'bob'),
      ];
      assert.notEqual(ada.text, '[[],"/",null]');
      assert.equal(ofCaller(ada.notes), ofCaller(again.notes));
      assert.equal(
        ofCaller(ada.notes) === ofCaller(bob.notes),
        ada.text === bob.text,
        `${JSON.stringify(written).slice(0, 200)}: ${ada.text} ${bob.text}`,
      );
      assert.doesNotMatch(JSON.stringify(ada.notes), /(?:token|agent|key|secret)-of/);
    }
  });

test('a signed token of the next second is the same credential, and a token with other claims is another one', async (t) => {
  let now = Date.now();
  const signingKey = pemOf();
  const stepsOf = (iss: string): Steps => {
    const steps = prepared(
      backendAuth,
      { jwtSign: { signingKey, alg: 'ES256', claims: { iss } } },
      { ...toolsWith([]), now: () => now },
    );
    t.after(() => steps.close?.());
    return steps;
  };
  const steps = stepsOf('gateway');
  const first = await sentFor(steps, 'ada');
  now += 1_000;
  const second = await sentFor(steps, 'ada');
  assert.notEqual(first.text, second.text);
  assert.deepEqual(first.notes, second.notes);
  assert.notDeepEqual((await sentFor(stepsOf('other'), 'ada')).notes, first.notes);
});
