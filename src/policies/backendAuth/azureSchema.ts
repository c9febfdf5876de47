import { z } from 'zod';
import { oneOf } from '../../schema/index.ts';
import { notBuilt } from '../fields/notBuilt.ts';
import type { TextSource } from '../text/schema.ts';
import { bearer, type Location } from '../token/schema.ts';
import { secret } from './secretText.ts';

/** The identity of a machine that has several: the name of the parameter, and its value. */
export type UserAssignedIdentity =
  { readonly clientId: string } | { readonly objectId: string } | { readonly resourceId: string };

/** The credential that a token of Azure is asked for with. */
export type AzureCredential =
  | {
      readonly type: 'clientSecret';
      readonly tenantId: string;
      readonly clientId: string;
      readonly secret: TextSource;
    }
  | { readonly type: 'managedIdentity'; readonly identity?: UserAssignedIdentity }
  | { readonly type: 'workloadIdentity' }
  | { readonly type: 'implicit' };

/** A token of Azure. */
export interface AzureSettings {
  readonly kind: 'azure';
  readonly credential: AzureCredential;
  readonly location: Location;
}

const id = (description: string) => z.string().min(1).max(2_048).meta({ description });

/** A GUID, or the name of a domain: it is a part of the path. */
export const tenantPattern = /^[\dA-Za-z](?:[\dA-Za-z.-]{0,253}[\dA-Za-z])?$/;

const clientSecret = z
  .strictObject({
    tenant_id: z
      .string()
      .regex(tenantPattern, 'expected the id or the domain of a tenant')
      .meta({ description: 'Id or domain of the tenant.' }),
    client_id: id('Id of the application.'),
    client_secret: secret,
  })
  .transform(({ tenant_id, client_id, client_secret }): AzureCredential => ({
    type: 'clientSecret',
    tenantId: tenant_id,
    clientId: client_id,
    secret: client_secret,
  }))
  .meta({ description: 'A secret of an application.' });

const identityNames = ['clientId', 'objectId', 'resourceId'] as const;
const userAssignedIdentity = oneOf(
  z.strictObject({
    clientId: id('Client id of the identity.').optional(),
    objectId: id('Object id of the identity.').optional(),
    resourceId: id('Resource id of the identity.').optional(),
  }),
  identityNames,
)
  .transform((given) => given as UserAssignedIdentity)
  .meta({ description: 'The identity; that of the system where this is left out.' });

const managedIdentity = z
  .strictObject({ userAssignedIdentity: userAssignedIdentity.optional() })
  .transform(({ userAssignedIdentity: identity }): AzureCredential => ({
    type: 'managedIdentity',
    ...(identity === undefined ? {} : { identity }),
  }))
  .meta({ description: 'The managed identity of the machine or of App Service.' });

const explicitConfig = oneOf(
  z.strictObject({
    clientSecret: clientSecret.optional(),
    managedIdentity: managedIdentity.optional(),
    workloadIdentity: z
      .strictObject({})
      .transform((): AzureCredential => ({ type: 'workloadIdentity' }))
      .meta({ description: 'The workload identity of a Kubernetes pod, by its environment.' })
      .optional(),
  }),
  ['clientSecret', 'managedIdentity', 'workloadIdentity'],
)
  .transform(
    ({ clientSecret: application, managedIdentity: managed, workloadIdentity: workload }): AzureCredential =>
      // `oneOf` has refused an object without any of them.
      application ?? managed ?? workload ?? { type: 'implicit' },
  )
  .meta({ description: 'The credential, by name.' });

export const azure = oneOf(
  z.strictObject({
    explicitConfig: explicitConfig.optional(),
    developerImplicit: notBuilt('credentials of developer tools'),
    implicit: z
      .strictObject({})
      .meta({ description: 'Workload identity where the environment has it, managed identity otherwise.' })
      .optional(),
  }),
  ['explicitConfig', 'implicit'],
)
  .transform(({ explicitConfig: credential = { type: 'implicit' } }): AzureSettings => ({
    kind: 'azure',
    credential,
    location: bearer,
  }))
  .meta({ description: 'A token of Azure for the identity of the gateway.' });
