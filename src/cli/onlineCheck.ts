import { messageOf } from '../errorText.ts';
import { createIssuerMetadata, createKeySets, type KeySetSource } from '../auth/index.ts';
import type { Model, Place, PolicyUse } from '../model/index.ts';
import { factsOf } from '../policies/facts.ts';
import type { Problem } from '../config/index.ts';
import type { Logger } from '../telemetry/index.ts';
import { silentLog } from './silentLog.ts';

/** An issuer whose tokens a policy accepts. */
interface Provider {
  readonly issuer: string;
  readonly jwks: KeySetSource;
}

interface Findings {
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
}

/** Fetches every key set of a model, and compares it with the metadata of its issuer. Never rejects. */
export async function checkOnline(model: Model): Promise<Findings> {
  const problems: Problem[] = [];
  const warnings: Problem[] = [];
  await Promise.all(
    [...providersOf(model)].map(async ([, { provider, place }]) => {
      const { file, line, column, path } = place;
      const problemAt = (message: string): Problem => ({ file, line, column, path, message });
      const fault = await keySetFault(provider.jwks);
      if (fault !== undefined) problems.push(problemAt(`the key set of ${provider.issuer}: ${fault}`));
      const { isWrong, message } = await metadataFault(provider);
      if (message !== undefined) (isWrong ? problems : warnings).push(problemAt(message));
    }),
  );
  return { problems, warnings };
}

/** Every pair of an issuer and a key set once, with the policy that has it first. */
function providersOf(model: Model): ReadonlyMap<string, { provider: Provider; place: Place }> {
  const found = new Map<string, { provider: Provider; place: Place }>();
  for (const { name, settings, place } of policiesIn(model)) {
    if (factsOf(name)?.asksFor !== 'token') continue;
    // `providers` of jwtAuth, `issuers` of mcpAuthentication.
    const { providers, issuers = [] } = settings as Readonly<Record<string, readonly Provider[] | undefined>>;
    for (const { issuer, jwks } of providers ?? issuers) {
      const key = JSON.stringify([issuer, jwks]);
      if (!found.has(key)) found.set(key, { provider: { issuer, jwks }, place });
    }
  }
  return found;
}

/** The policies of a model, wherever they stand. */
function* policiesIn(value: unknown): Iterable<PolicyUse> {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value) as [string, unknown][])
    if (name === 'policies' && Array.isArray(member)) yield* member as PolicyUse[];
    else yield* policiesIn(member);
}

async function keySetFault(jwks: KeySetSource): Promise<string | undefined> {
  const keySets = createKeySets({ log: silentLog });
  try {
    keySets.use(jwks);
    await keySets.tried();
    return keySets.view().find(({ keys }) => keys === 0)?.problem;
  } catch (error) {
    return messageOf(error);
  } finally {
    keySets.close();
  }
}

/** An issuer need not publish metadata, but what it publishes must be its own. */
async function metadataFault({
  issuer,
  jwks,
}: Provider): Promise<{ readonly isWrong: boolean; readonly message: string | undefined }> {
  if (!/^https?:\/\//.test(issuer)) return { isWrong: false, message: undefined };
  let problems = '';
  const log: Logger = { ...silentLog, warn: (_message, fields) => (problems = String(fields?.['problems'])) };
  const metadata = createIssuerMetadata({ issuer, openid: true, log, now: Date.now });
  try {
    const document = await metadata.get();
    if (document === undefined)
      return {
        isWrong: problems.includes('names another issuer'),
        message: `the metadata of ${issuer} could not be read: ${problems}`,
      };
    const named = document['jwks_uri'];
    if (jwks.kind === 'url' && typeof named === 'string' && named !== jwks.url)
      return {
        isWrong: false,
        message: `the metadata of ${issuer} names another key set, ${named}, in place of ${jwks.url}`,
      };
    return { isWrong: false, message: undefined };
  } finally {
    metadata.close();
  }
}
