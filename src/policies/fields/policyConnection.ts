import { z } from 'zod';
import { backendTls, positiveDuration } from '../../schema/index.ts';
import { notBuilt } from './notBuilt.ts';

/** The settings of the connections to a server that a policy calls. @param server as the policy calls it */
export const policyConnection = (server: string, timeout: string) =>
  z
    .strictObject({
      backendTLS: backendTls.optional().describe(`TLS with the ${server}.`),
      http: z
        .strictObject({
          requestTimeout: positiveDuration.optional().describe(timeout),
        })
        .optional()
        .meta({ description: 'Settings of the calls.' }),
      tcp: notBuilt(`TCP settings of a ${server}`),
      backendAuth: notBuilt(`credentials for a ${server}`),
      requestHeaderModifier: notBuilt(`headers for a ${server}`),
      transformations: notBuilt(`transformations for a ${server}`),
      backendTunnel: notBuilt('tunnels'),
    })
    .meta({ description: `Connections to the ${server}.` });
