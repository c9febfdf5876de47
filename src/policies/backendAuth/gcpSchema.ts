import { z } from 'zod';
import { textSource, type TextSource } from '../text/schema.ts';
import { bearer, type Location } from '../token/schema.ts';
import { gcpCredentialProblem, isAuthorizedUser } from './gcpCredential.ts';

/** A token of Google Cloud. */
export interface GcpSettings {
  readonly kind: 'gcp';
  /** The audience of an ID token; absent for an access token. */
  readonly audience?: string;
  /** Absent: the credential of the environment. */
  readonly credential?: TextSource;
  readonly location: Location;
}

export const gcp = z
  .strictObject({
    type: z
      .enum(['accessToken', 'idToken'])
      .default('accessToken')
      .meta({ description: 'Kind of token; accessToken where this is left out.' }),
    audience: z.string().min(1).max(2_048).meta({ description: '`aud` of an ID token.' }).optional(),
    credential: textSource(
      'JSON of a service account or an authorized user, or `{file: …}`; the credential of the environment where this is left out.',
      gcpCredentialProblem,
    ).optional(),
  })
  .transform(({ type, audience, credential }, ctx): GcpSettings => {
    const issue = (message: string): void => ctx.addIssue({ code: 'custom', message, path: ['audience'] });
    if (type === 'idToken' && audience === undefined)
      issue('type idToken needs the audience, such as https:// and the host of the backend');
    if (type === 'accessToken' && audience !== undefined) issue('is for type idToken only');
    if (audience !== undefined && credential?.kind === 'inline' && isAuthorizedUser(credential.text))
      issue('an authorized_user gets no ID token for an audience');
    return {
      kind: 'gcp',
      ...(audience === undefined ? {} : { audience }),
      ...(credential === undefined ? {} : { credential }),
      location: bearer,
    };
  })
  .meta({ description: 'A token of Google Cloud for the identity of the gateway.' });
